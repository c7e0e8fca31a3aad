// airlock-case: {"expect":"user_exception","signal":"SIGXCPU","stdout":"before\n","note":"the signal of a CPU limit that is not ours, sent by the program itself: no timeout"}
console.log("before");
process.kill(process.pid, "SIGXCPU");
