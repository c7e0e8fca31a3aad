# differential: {}
import multiprocessing
import os
import sys


def square(n):
    return n * n, multiprocessing.current_process().daemon


def child(queue):
    queue.put((__name__, sys.argv, multiprocessing.parent_process().pid == os.getppid(), os.getpid() != os.getppid()))
    sys.exit(6)


if __name__ == "__main__":
    print(multiprocessing.get_start_method(), multiprocessing.current_process(), len(multiprocessing.current_process().authkey))
    with multiprocessing.Pool(2) as pool:
        print(pool.map(square, range(5)))
    queue = multiprocessing.Queue()
    process = multiprocessing.Process(target=child, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
    print(process.name, process.exitcode, multiprocessing.active_children())
