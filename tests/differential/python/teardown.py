# differential: {}
# What is destroyed at the end, and in which order, as far as the program can see it.
import sys


class Last:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("del", self.name, sys.is_finalizing() if sys else "sys is gone", __name__, sorted(globals())[:3])


_under = Last("_under")
name_a = Last("name_a")
sys.kept_by_sys = Last("kept_by_sys")
cycle = Last("cycle")
cycle.me = cycle
sys.modules["made_up"] = Last("as a module")
