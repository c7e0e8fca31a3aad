// airlock-case: {"expect": "success", "outputs": {"copy.txt": 5, "more/empty": 0}, "dropped": ["not a regular file"], "in": {"word.txt": "input"}, "args": ["word.txt"], "quick": true, "note": "inputs arrive, files come out, a link does not"}
const fs = require("fs");

fs.writeFileSync("/out/copy.txt", fs.readFileSync(`/in/${process.argv[2]}`));
fs.mkdirSync("/out/more");
fs.writeFileSync("/out/more/empty", "");
fs.symlinkSync("/etc/passwd", "/out/link");
