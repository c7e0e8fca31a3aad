// differential: {"verdict": "oom", "options": ["--memory", "192M"]}
const kept = [];
console.log('to the end');
for (;;) {
    kept.push(Buffer.alloc(8 << 20, 1));
}
