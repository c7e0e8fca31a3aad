# differential: {}
import os
import sys

text = open(__file__).read()
print(os.stat(__file__).st_size == len(text), oct(os.stat(__file__).st_mode), os.path.realpath(__file__), text.count("\n"))
os.chdir("/tmp")
print(os.path.exists(__file__), __file__, sys.path[0], os.path.abspath(sys.argv[0]))
os.chdir("/work")
os.rename("main.py", "other.py")
import other as again  # noqa: F401 prints the same once more, under another name
