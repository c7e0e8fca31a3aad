// differential: {"verdict": "user_exception", "exit": 1}
const { Worker } = require('worker_threads');
new Worker(`
function fail() {
    throw new Error('nobody listens');
}
setTimeout(fail, 1);
`, { eval: true });
