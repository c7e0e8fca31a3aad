// differential: {"verdict": "user_exception", "signal": "SIGABRT", "varies": [["0x[0-9a-f]+", "0xN", "an address"]]}
console.log('before');
process.abort();
