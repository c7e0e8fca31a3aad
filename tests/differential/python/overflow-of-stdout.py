# differential: {"verdict": "output_overflow", "options": ["--stdout", "4K"], "varies": [["(?s)Traceback .*", "", "it may see its pipe closed before it is killed"]]}
import sys

while True:
    sys.stdout.write("0123456789abcde\n")
