# airlock-case: {"expect":"success","stdout":"[0, 1, 4, 9, 16, 25]\n","note":"control: ordinary parallel work runs under the limits","source":"https://github.com/eugene1g/agent-safehouse/pull/171"}
import multiprocessing


def square(n):
    return n * n


if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(pool.map(square, range(6)))
