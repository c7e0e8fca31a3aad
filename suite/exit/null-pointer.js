// airlock-case: {"expect":"user_exception","signal":"SIGSEGV","stdout":"before\n","note":"Node.js reaches no raw pointer, so the crash's signal is sent: it takes the interpreter down and nothing else"}
console.log("before");
process.kill(process.pid, "SIGSEGV");
