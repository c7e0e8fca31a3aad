"""TAP, a line at a time."""
import sys


class Tap:
    def __init__(self):
        self.number = 0

    def line(self, good, name, detail="", skip=None):
        self.number += 1
        print(f"{'ok' if good else 'not ok'} {self.number} - {name}{f' # SKIP {skip}' if skip else ''}")
        for text in detail.splitlines()[:30]:
            print("# " + text)
        sys.stdout.flush()
