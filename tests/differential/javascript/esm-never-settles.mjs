// differential: {"verdict": "user_exception", "exit": 13}
console.log('waiting for nothing');
process.on('exit', (code) => console.log('exit', code));
await new Promise(() => {});
