// airlock-case: {"expect":"user_exception","signal":"SIGBUS","stdout":"before\n","note":"the kernel's fault signal for I/O, sent by the program itself: not a sandbox's fault"}
console.log("before");
process.kill(process.pid, "SIGBUS");
