# differential: {}
import concurrent.futures
import multiprocessing


def work(n):
    if n == 3:
        raise ValueError("three")
    return n + 1


if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("forkserver")) as pool:
        print(list(pool.map(work, [1, 2])))
        print(repr(pool.submit(work, 3).exception()))
