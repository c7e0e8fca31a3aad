// differential: {}
async function one() {
    await two();
}
async function two() {
    await new Promise((r) => setImmediate(r));
    console.trace('trace');
    throw new Error('x');
}
setTimeout(() => console.log(new Error('in a timer').stack), 1);
process.nextTick(() => console.log(new Error('in a tick').stack));
Promise.resolve().then(() => console.log(new Error('in a microtask').stack));
process.once('exit', () => console.log(new Error('at exit').stack));
one().catch((e) => console.log(e.stack));
