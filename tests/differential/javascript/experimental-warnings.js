// differential: {"varies": [["node:\\d+", "node:N", "process id"]]}
const { test } = require('node:test');
console.log(typeof fetch, typeof ReadableStream, typeof structuredClone, typeof test, typeof CustomEvent);
fetch('http://127.0.0.1:9/').catch((e) => console.log(e.message, e.cause && e.cause.code));
