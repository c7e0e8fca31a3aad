# airlock-case: {"expect":"user_exception","signal":"SIGXCPU","stdout":"before\n","note":"the program limits its own CPU time and dies of that: no timeout of ours"}
import resource

resource.setrlimit(resource.RLIMIT_CPU, (1, 600))
print("before", flush=True)
while True:
    pass
