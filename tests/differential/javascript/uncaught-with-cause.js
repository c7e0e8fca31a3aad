// differential: {"verdict": "user_exception", "exit": 1}
function read() {
    require('fs').readFileSync('/no/such/file');
}
try {
    read();
} catch (error) {
    throw new AggregateError([new TypeError('inner'), 5], 'several', { cause: error });
}
