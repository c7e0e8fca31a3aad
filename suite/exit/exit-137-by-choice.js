// airlock-case: {"expect":"user_exception","exit":137,"err":"Killed","note":"the code that shells show for SIGKILL, chosen by the program: no oom, no timeout, no signal","source":"https://github.com/lensapp/lens-sandbox/pull/62"}
console.error("Killed");
process.exit(137);
