# differential: {}
# What a program hangs on modules of the library is destroyed at the end as well.
import json
import logging
import posix
import random
import tempfile


class Last:
    def __init__(self, name):
        self.name = name

    def __del__(self, write=posix.write):
        write(1, f"del {self.name}\n".encode())


for module in (json, random, tempfile, logging):
    module.kept = Last(module.__name__)
logging.getLogger("of the program").kept = Last("a logger")
directory = tempfile.TemporaryDirectory()
print("ends", flush=True)
