// differential: {}
const { constants } = require('os');
let waiting = 5;
const alive = setInterval(() => {}, 1000);
for (const name of ['SIGUSR2', 'SIGINT', 'SIGTERM', 'SIGHUP', 'SIGWINCH']) {
    process.once(name, (...args) => {
        console.log('got', args, process.listenerCount(name));
        if (--waiting === 0) {
            clearInterval(alive);
            console.log('end');
        }
    });
    process.kill(process.pid, name);
}
console.log(process.kill(process.pid, 0), Object.keys(constants.signals).length, process.eventNames());
try {
    process.kill(process.pid, 'SIGNOTHING');
} catch (error) {
    console.log(error.code, error.message);
}
