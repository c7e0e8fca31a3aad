# differential: {"args": ["two words", "", "--flag=1", "\u00e9\u4e2d", "-", "--", "tab\there"]}
import sys

print(sys.argv)
print(sys.orig_argv)
print(sys.executable, sys._base_executable)
print(__file__, __name__)
sys.argv.append("changed")
print(len(sys.argv), len(sys.orig_argv), type(sys.argv), type(sys.orig_argv))
