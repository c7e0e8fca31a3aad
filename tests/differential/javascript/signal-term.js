// differential: {"verdict": "user_exception", "signal": "SIGTERM"}
process.on('exit', () => console.log('never'));
console.log('before');
process.kill(process.pid, 'SIGTERM');
setTimeout(() => {}, 60000);
