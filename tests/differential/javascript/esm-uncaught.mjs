// differential: {"verdict": "user_exception", "exit": 1}
const wait = async () => {
    await new Promise((r) => setTimeout(r, 5));
    throw new TypeError('after an await');
};
console.log('before');
await wait();
