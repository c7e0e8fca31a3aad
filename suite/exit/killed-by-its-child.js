// airlock-case: {"expect":"user_exception","signal":"SIGTERM","stdout":"before\n","note":"a child ends its parent; the parent's end is the program's"}
console.log("before");
require("child_process").spawn("sh", ["-c", "kill -TERM $PPID"]);
setInterval(() => {}, 60000);
