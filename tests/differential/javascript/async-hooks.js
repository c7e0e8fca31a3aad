// differential: {}
const hooks = require('async_hooks');
console.log(hooks.executionAsyncId(), hooks.triggerAsyncId(), hooks.executionAsyncResource());
const seen = [];
hooks.createHook({ init: (id, type, trigger) => seen.push([id, type, trigger]) }).enable();
setTimeout(() => seen.push(['timer', hooks.executionAsyncId(), hooks.triggerAsyncId()]), 1);
Promise.resolve().then(() => seen.push(['then', hooks.executionAsyncId()]));
const store = new hooks.AsyncLocalStorage();
console.log(store.getStore(), store.run(5, () => store.getStore()));
process.on('exit', () => console.log(seen));
