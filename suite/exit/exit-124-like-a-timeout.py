# airlock-case: {"expect":"user_exception","exit":124,"err":"timed out","note":"the code and the words of timeout(1), chosen by the program: no timeout"}
import os
import sys

print("airlock: timeout: timed out after 10 s", file=sys.stderr, flush=True)
os._exit(124)
