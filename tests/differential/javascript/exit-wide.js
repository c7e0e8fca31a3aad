// differential: {"verdict": "user_exception", "exit": 44}
process.exit(256 + 44);
