# airlock-case: {"expect":"user_exception","signal":"SIGKILL","stdout":"before\n","never":"after","quick":true,"note":"SIGKILL by the program itself looks like an oom kill from outside; only the kernel's count tells them apart","source":"https://github.com/lensapp/lens-sandbox/pull/62"}
import os
import signal

print("before", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
print("after", flush=True)
