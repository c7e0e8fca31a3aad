# differential: {}
import sys

print("fine")
sys.exit(None)
