# airlock-case: {"expect":"timeout","which":"wall","stdout":"half a li","limits":{"wall_s":1,"cpu_s":60},"quick":true,"note":"a sleeper uses no CPU, so only the wall limit can end it; half a line must still come back","source":"https://github.com/ioi/isolate/issues/72"}
import sys
import time

sys.stdout.write("half a li")
sys.stdout.flush()
time.sleep(1e6)
print("ne")
