# airlock-case: {"expect":"timeout","which":"wall","never":"never reached","limits":{"wall_s":1,"cpu_s":60},"note":"two threads wait for each other for ever without using CPU"}
import threading

first, second = threading.Lock(), threading.Lock()
both_hold_one = threading.Barrier(2)


def take(mine, other):
    with mine:
        both_hold_one.wait()
        with other:
            print("never reached", flush=True)


print("taken once", flush=True)
threading.Thread(target=take, args=(first, second)).start()
take(second, first)
