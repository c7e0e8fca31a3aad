// airlock-case: {"expect": "user_exception", "reason": "exit_code", "exit": 137, "never": "success", "stdin": "a\nb", "has": ["2 lines"], "note": "137 by choice is an exit code, not a signal"}
const lines = require("fs").readFileSync(0, "utf8").split("\n");
console.log(lines.length, "lines");
process.exitCode = 137;
