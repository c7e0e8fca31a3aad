// differential: {"verdict": "user_exception", "exit": 1}
process.on('exit', () => {
    console.log('in exit');
    throw new Error('from the exit event');
});
