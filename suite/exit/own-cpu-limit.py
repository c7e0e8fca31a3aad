# airlock-case: {"expect":"user_exception","signal":"SIGXCPU","stdout":"before\n","note":"the program limits its own CPU time and dies of that: no timeout of ours"}
import resource
import time

print("before", flush=True)
resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 1, 600))
while True:
    pass
