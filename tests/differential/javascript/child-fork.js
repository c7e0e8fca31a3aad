// differential: {"args": ["kept"]}
const { fork } = require('child_process');
if (process.argv[2] === 'child') {
    console.log('child', process.argv, process.execArgv, process.connected, require.main === module, process._preload_modules, Object.keys(process.env));
    process.on('message', (m) => {
        process.send({ got: m });
        process.disconnect();
    });
} else {
    console.log('parent', process.argv, process.connected, process.send);
    const child = fork(__filename, ['child']);
    child.send({ hello: [1, 2] });
    child.on('message', (m) => console.log('message', m));
    child.on('exit', (code, sig) => console.log('exit', code, sig));
}
