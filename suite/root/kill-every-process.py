# airlock-case: {"expect": "sandbox_failure", "has": "killing", "root": true, "note": "the agent's helper dies with all others; without its report there is no end that could be believed"}
import os; os.uname().nodename == "airlock" or exit("only inside airlock")
import os
import time

print("killing", flush=True)
time.sleep(0.5)
os.kill(-1, 9)
time.sleep(30)
