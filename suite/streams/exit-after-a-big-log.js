// airlock-case: {"expect":"user_exception","exit":4,"out_bytes":400000,"limits":{"out_kib":1024},"note":"process.exit() drops what is not written yet, unless the pipe takes it at once","source":"https://github.com/nodejs/node/issues/53242"}
for (let i = 0; i < 40; i++) console.log("-".repeat(9999));
process.exit(4);
