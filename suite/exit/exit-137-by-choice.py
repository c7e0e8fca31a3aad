# airlock-case: {"expect":"user_exception","exit":137,"err":"Killed","quick":true,"note":"the code that shells show for SIGKILL, chosen by the program: no oom, no timeout, no signal","source":"https://github.com/lensapp/lens-sandbox/pull/62"}
import sys

print("Killed", file=sys.stderr)
sys.exit(137)
