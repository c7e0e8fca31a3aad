# differential: {"env": {"PATH": "/work:/usr/bin", "HOME": "/tmp", "OUT": "/tmp/other"}, "fresh": "HOME and PATH are read when the interpreter starts"}
import os
import shutil
import sys

print(os.environ, os.path.expanduser("~"), shutil.which("env"), sys.executable, os.get_exec_path())
import site

print(site.getuserbase())
