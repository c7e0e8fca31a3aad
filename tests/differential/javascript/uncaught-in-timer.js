// differential: {"verdict": "user_exception", "exit": 1}
process.on('exit', (code) => console.log('exit event', code, process.exitCode));
setTimeout(function later() {
    null.property;
}, 5);
