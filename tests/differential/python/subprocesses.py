# differential: {}
import os
import subprocess
import sys

sys.stdout.flush()
show = 'import sys, os; print(sys.argv, sys.flags, sys.path, list(sys.modules), sorted(os.environ), os.listdir("/proc/self/fd"))'
print(subprocess.run([sys.executable, '-c', show, 'arg'], capture_output=True, text=True))
print(subprocess.run([sys.executable, '-I', '-'], input='import sys; print(sys.argv, sys.flags.isolated, __name__, __builtins__)', capture_output=True, text=True))
print(subprocess.run([sys.executable, '-m', 'json.tool'], input='[1]', capture_output=True, text=True))
print(subprocess.run('echo $0 $$ $PPID; exit 4', shell=True, capture_output=True, text=True))
print(subprocess.run([sys.executable, 'none.py'], capture_output=True, text=True))
try:
    subprocess.run(['/no/such/thing'])
except FileNotFoundError as error:
    print(error)
subprocess.run(['sh', '-c', 'echo straight out; echo straight err >&2'])
