// differential: {"verdict": "user_exception", "exit": 1}
// What a program breaks for itself must not reach what started it, nor hide how it ends.
delete globalThis.process;
Array.prototype.push = () => { throw new Error('no push'); };
Object.defineProperty(Object.prototype, 'filename', { get() { return 'forged'; }, configurable: true });
JSON.parse = () => ({ exit: 0 });
Promise.prototype.then = function () { return this; };
throw new Error('ends as any other');
