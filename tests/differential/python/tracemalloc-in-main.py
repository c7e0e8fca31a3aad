# differential: {}
import tracemalloc

print(tracemalloc.is_tracing(), tracemalloc.get_traceback_limit(), tracemalloc.get_traced_memory())
tracemalloc.start(25)
block = [bytes(1000) for _ in range(100)]
snapshot = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "/work/main.py")])
for stat in snapshot.statistics("traceback"):
    if stat.size > 50000:
        print(stat.count, stat.traceback.format())
print(tracemalloc.get_object_traceback(block))
