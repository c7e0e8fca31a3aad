# airlock-case: {"expect":"user_exception","signal":"SIGKILL","has":"OK","outputs":{},"note":"everything says success, the outputs are in place, and then the program is killed: that is what counts"}
import os
import signal

with open(os.environ["OUT"] + "/verdict.json", "w") as f:
    f.write('{"verdict":"success","exit_code":0}')
print("OK\nairlock: success in 0.1 s", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
