# differential: {"verdict": "user_exception", "exit": 1}
import os
import sys

text = open(__file__).read()
print(os.stat(__file__).st_size == len(text), oct(os.stat(__file__).st_mode), os.path.realpath(__file__), text.count("\n"))
os.chdir("/tmp")
print(os.path.exists(__file__), __file__, sys.path[0], os.path.abspath(sys.argv[0]))
os.chdir("/work")
os.rename("main.py", "other.py")
print(os.path.exists(__file__), text == open("other.py").read())
raise KeyError("its line is in a file of another name now")
