# differential: {"verdict": "user_exception", "exit": 1}
# The source can't be read any more when the traceback is printed.
import os

os.unlink("main.py")
exec(compile("def f():\n    raise LookupError('in made-up code')\n", "<made up>", "exec"))
f()
