# airlock-case: {"expect":"success","out_bytes":500000,"stdin_bytes":500000,"limits":{"out_kib":512},"note":"control: half a megabyte through the program, both directions at once"}
import shutil
import sys

shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer, 5000)
