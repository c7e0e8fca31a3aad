// airlock-case: {"expect":"user_exception","signal":"SIGRTMIN+3","note":"signals above 31 have no fixed names and must be told apart all the same"}
process.kill(process.pid, 34 + 3);
