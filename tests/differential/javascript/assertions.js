// differential: {"verdict": "user_exception", "exit": 1}
const assert = require('assert');
function check(value) {
    assert.deepStrictEqual({ a: value, list: [1, 2, 3] }, { a: 2, list: [1, 2, 4] });
}
try {
    assert(0 === 1);
} catch (e) {
    console.log(e.message, e.code, e.generatedMessage);
}
check(1);
