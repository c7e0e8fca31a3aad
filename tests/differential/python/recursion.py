# differential: {}
import sys

print(sys.getrecursionlimit())
depth = 0


def down():
    global depth
    depth += 1
    down()


try:
    down()
except RecursionError as error:
    print(depth, error)
depth = 0
sys.setrecursionlimit(200)
try:
    down()
except RecursionError as error:
    print(depth, error)
for least in range(1, 40):
    try:
        sys.setrecursionlimit(least)
        print("can be set to", least)
        break
    except RecursionError as error:
        last = error
sys.setrecursionlimit(1000)
print(last)
