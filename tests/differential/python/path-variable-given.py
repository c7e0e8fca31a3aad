# differential: {"env": {"PATH": "/work:/usr/bin", "HOME": "/tmp", "OUT": "/tmp/other"}}
import os
import shutil
import sys

print(os.environ, os.path.expanduser("~"), shutil.which("env"), sys.executable, os.get_exec_path())
import site

print(site.getuserbase())
