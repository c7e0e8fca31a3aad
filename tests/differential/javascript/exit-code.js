// differential: {"verdict": "user_exception", "exit": 7}
process.on('exit', (code) => console.log('exit', code));
process.on('beforeExit', () => console.log('never'));
console.log('before');
process.exit(7);
