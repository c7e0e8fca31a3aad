// airlock-case: {"expect":"user_exception","signal":"SIGKILL","stdout":"before\n","never":"after","note":"SIGKILL by the program itself looks like an oom kill from outside; only the kernel's count tells them apart","source":"https://github.com/lensapp/lens-sandbox/pull/62"}
console.log("before");
process.kill(process.pid, "SIGKILL");
console.log("after");
