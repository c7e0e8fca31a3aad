# differential: {}
import copy
import pickle
import subprocess
import sys


class Point:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return self.x == other.x


def function():
    pass


data = pickle.dumps([Point(1), function, Point], 2)
print(data, pickle.loads(data)[0] == Point(1), copy.deepcopy(Point(3)).x, Point.__module__, function.__module__)
try:
    pickle.dumps(lambda: 1)
except Exception as error:
    print(type(error).__name__, str(error).split(" at ")[0])
child = "import pickle, sys; pickle.loads(sys.stdin.buffer.read())"
print(subprocess.run([sys.executable, "-c", child], input=data, capture_output=True).stderr.decode())
