// differential: {"stdin_bytes": 2000000}
console.log('not interested');
