# differential: {"verdict": "user_exception", "exit": 120}
import contextlib
import io
import sys

keep = io.StringIO()
with contextlib.redirect_stdout(keep):
    print("kept")
sys.stdout.reconfigure(encoding="latin-1", errors="replace", newline="\r\n", line_buffering=True)
print("\u00e9\u4e2d", repr(keep.getvalue()), sys.stdout.encoding, sys.__stdout__.encoding)
sys.stdout = open(1, "w", encoding="utf-16", closefd=False)
print("wide")
sys.stdout.flush()
sys.stdout = sys.__stdout__
sys.stdout.detach().write(b"detached\n")
