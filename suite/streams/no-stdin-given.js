// airlock-case: {"expect":"success","stdout":"0 false\n","limits":{"wall_s":6},"note":"no stdin means an empty one: not a terminal, not the caller's, not one that blocks","source":"https://github.com/langchain-ai/langsmith-sdk/pull/3453"}
const size = require("fs").readFileSync(0).length;
console.log(size, [0, 1, 2].some((fd) => require("tty").isatty(fd)));
