# differential: {}
import sys

print("\n".join(sys.modules))
