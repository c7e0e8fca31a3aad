# differential: {}
# Each import in the order in which finders are asked, as a finder put in front sees it.
import sys


class Watcher:
    @staticmethod
    def find_spec(name, path=None, target=None):
        print("asked for", name, path is not None)


sys.meta_path.insert(0, Watcher)
import json
import random
import tempfile

print(sys.modules["json"].__name__)
