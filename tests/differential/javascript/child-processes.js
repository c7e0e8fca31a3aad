// differential: {}
const { execFileSync, spawnSync, exec } = require('child_process');
console.log(execFileSync(process.execPath, ['-p', 'process.argv + process.execArgv + Object.keys(process.env) + module.id + process._preload_modules'], { encoding: 'utf8' }));
console.log(spawnSync('sh', ['-c', 'echo out; echo err >&2; ls /proc/self/fd | wc -l; kill -9 $$'], { encoding: 'utf8' }).output);
const none = spawnSync('/no/such');
console.log(none.error.code, none.status, none.error.message);
exec('exit 3', (error, out, err) => {
    console.log(error.code, error.cmd, out === '', err === '');
    spawnSync('echo', ['inherited'], { stdio: 'inherit' });
});
