// differential: {"verdict": "user_exception", "exit": 44}
console.log('before');
process.exit(256 + 44);
