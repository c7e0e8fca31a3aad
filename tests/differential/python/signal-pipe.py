# differential: {"verdict": "user_exception", "exit": 120}
import os
import signal

print(signal.getsignal(signal.SIGPIPE), flush=True)
r, w = os.pipe()
os.close(r)
try:
    os.write(w, b"x")
except BrokenPipeError as error:
    print(error)
os.dup2(w, 1)
print("nobody reads this", flush=True)
