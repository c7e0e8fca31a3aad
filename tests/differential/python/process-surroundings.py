# differential: {}
import getpass
import os
import platform
import pwd
import socket
import sys

print(os.getcwd(), oct(os.umask(0o77)), os.nice(0), os.sched_getscheduler(0), os.sched_getaffinity(0), os.cpu_count())
print(os.uname(), socket.gethostname(), platform.platform(), platform.python_build(), platform.node())
print(os.getpriority(os.PRIO_PROCESS, 0), os.get_exec_path(), os.getenv("USER"), os.path.expanduser("~/x"))
print(os.sysconf("SC_NPROCESSORS_ONLN"), os.sysconf("SC_CLK_TCK"), os.sysconf("SC_ARG_MAX"), os.confstr("CS_GNU_LIBC_VERSION"))
print({name: oct(os.stat(name).st_mode) for name in os.listdir(".")}, os.listdir("/in"), os.stat("main.py").st_uid)
for call in (getpass.getuser, lambda: pwd.getpwuid(os.getuid())):
    try:
        print(call())
    except (KeyError, OSError) as error:
        print(type(error), error)
print(sys.executable, os.access("/work", os.W_OK), os.access("/usr", os.W_OK), os.path.exists("/work/__pycache__"))
