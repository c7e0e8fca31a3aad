// differential: {"verdict": "user_exception", "exit": 3}
let rounds = 0;
process.on('beforeExit', (code) => {
    console.log('beforeExit', code, rounds);
    if (rounds++ < 2) {
        setTimeout(() => console.log('more work'), 1);
    }
});
process.on('exit', (code) => {
    console.log('exit', code);
    setTimeout(() => console.log('never'), 0);
    process.exitCode = 3;
});
process.exitCode = 9;
