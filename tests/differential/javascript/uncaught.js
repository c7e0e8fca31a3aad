// differential: {"verdict": "user_exception", "exit": 1}
class Own extends Error {
    constructor(text) {
        super(text);
        this.name = 'Own';
        this.extra = { a: [1, 2, { deep: true }] };
    }
}
function deepest(n) {
    throw new Own(`at ${n}`);
}
const middle = (n) => [n].map(deepest);
console.log('before');
middle(7);
