// differential: {"stdin": "one\ntwo\nthree \u00c3\u00a9\n"}
(async () => {
    const parts = [];
    for await (const part of process.stdin) {
        parts.push(part);
    }
    console.log(Buffer.concat(parts).toString(), process.stdin.readableEnded, process.stdin.constructor.name);
})();
