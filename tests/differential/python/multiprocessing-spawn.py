# differential: {}
import multiprocessing
import os
import sys

print("module level as", __name__, flush=True)


def child(numbers, lock):
    main = sys.modules["__main__"]
    with lock:
        numbers[0] += 1
        print(__name__, main.__name__, sys.argv, sys.path[:2], os.path.basename(main.__file__), sys.flags.inspect, flush=True)
        print(repr(main.__spec__), multiprocessing.current_process().name, flush=True)


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    numbers, lock = context.Array("i", [5]), context.Lock()
    process = context.Process(target=child, args=(numbers, lock))
    process.start()
    process.join()
    print(process.exitcode, numbers[:])
