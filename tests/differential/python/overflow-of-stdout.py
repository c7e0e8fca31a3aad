# differential: {"verdict": "output_overflow", "options": ["--stdout", "4K"]}
import sys

while True:
    sys.stdout.write("0123456789abcde\n")
