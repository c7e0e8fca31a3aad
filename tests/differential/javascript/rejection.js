// differential: {"verdict": "user_exception", "exit": 1}
async function inner() {
    await null;
    throw new Error('in an async function');
}
async function outer() {
    await inner();
}
console.log('before');
outer();
setTimeout(() => console.log('never'), 1000);
