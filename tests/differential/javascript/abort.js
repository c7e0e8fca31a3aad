// differential: {"verdict": "user_exception", "signal": "SIGABRT"}
console.log('before');
process.abort();
