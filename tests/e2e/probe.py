"""Runs inside the machine: looks at everything a hostile program would look at; prints JSON.

Arguments: MARKER, the path of a file that exists on the host.
"""
import ctypes
import errno
import json
import os
import socket
import stat
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
found = {}


def attempt(action):
    """The errno's name, or "done" if it worked."""
    try:
        action()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
    return "done"


def masked(path):
    """True for a null device bound over the file: reads are empty, writes go nowhere."""
    try:
        info = os.stat(path)
    except OSError:
        return False
    return stat.S_ISCHR(info.st_mode) and info.st_rdev == os.makedev(1, 3)


def write(path):
    if path.startswith("/proc/") and masked(path):
        return "masked"

    def action():
        with open(path, "w", encoding="utf-8") as file:
            file.write("x")
    return attempt(action)


def read(path):
    if masked(path):
        return "masked"

    def action():
        with open(path, "rb") as file:
            file.read(1)
    return attempt(action)


def call(name, *args):
    ctypes.set_errno(0)
    if getattr(LIBC, name)(*args) < 0:
        return errno.errorcode.get(ctypes.get_errno(), "?")
    return "done"


def listing(path):
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        return errno.errorcode[error.errno]


def connect(family, address):
    def action():
        with socket.socket(family, socket.SOCK_STREAM) as s:
            s.settimeout(2)
            s.connect(address)
    return attempt(action)


def fds():
    out = []
    for fd in range(1024):
        try:
            os.fstat(fd)
            out.append(fd)
        except OSError:
            pass
    return out


def writable_outside():
    """Directories a plain user can write to, apart from the places meant for it."""
    out = []
    for base, dirs, _ in os.walk("/"):
        if base in ("/proc", "/work", "/out", "/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue"):
            dirs[:] = []
        elif os.access(base, os.W_OK):
            out.append(base)
    return out


status = dict(line.split(":\t", 1) for line in open("/proc/self/status", encoding="utf-8")
              .read().splitlines() if ":\t" in line)
found["ids"] = [list(os.getresuid()), list(os.getresgid()), os.getgroups()]
found["capabilities"] = [status["CapInh"], status["CapPrm"], status["CapEff"], status["CapBnd"],
                         status["CapAmb"]]
found["no_new_privs"] = status["NoNewPrivs"]
found["fds"] = fds()
found["interfaces"] = [name for _, name in socket.if_nameindex()]
found["connect"] = {
    "metadata": connect(socket.AF_INET, ("169.254.169.254", 80)),
    "internet": connect(socket.AF_INET, ("1.1.1.1", 53)),
    "gateway": connect(socket.AF_INET, ("10.0.2.2", 22)),
    "ipv6": connect(socket.AF_INET6, ("2606:4700:4700::1111", 53)),
}
found["vsock"] = connect(getattr(socket, "AF_VSOCK", 40), (2, 1024))
found["packet"] = attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close())
found["write"] = {path: write(path) for path in (
    "/in/data.txt", "/in/new", "/new", "/etc/new", "/etc/passwd", "/usr/bin/new", "/dev/new",
    "/proc/sys/kernel/hostname", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger",
    "/proc/sys/vm/overcommit_memory", "/work/new", "/out/new", "/tmp/new")}
found["writable"] = writable_outside()
found["in"] = {name: open("/in/" + name, encoding="utf-8").read() for name in listing("/in")}
found["in_mode"] = stat.S_IMODE(os.stat("/in/data.txt").st_mode)
found["marker"] = os.path.exists(sys.argv[1])
found["sys"] = listing("/sys") if os.path.isdir("/sys") else []
found["root"] = listing("/")
found["dev"] = listing("/dev")
found["kcore"] = read("/proc/kcore")
found["kmsg"] = read("/proc/kmsg")
found["devmem"] = read("/dev/mem")
found["ports"] = [n for n in listing("/dev") if n.startswith(("vport", "hvc", "vd", "ttyS"))]
found["pids"] = [n for n in listing("/proc") if n.isdigit()]
found["pid1_environ"] = read("/proc/1/environ")
found["pid1_mem"] = read("/proc/1/mem")
found["pid1_fds"] = listing("/proc/1/fd")
found["kill_1"] = attempt(lambda: os.kill(1, 9))
found["ptrace_1"] = call("ptrace", 16, 1, 0, 0)
found["mount"] = call("mount", b"none", b"/tmp", b"tmpfs", 0, None)
found["sethostname"] = call("sethostname", b"x", 1)
found["setuid"] = call("setuid", 0)
found["reboot"] = call("reboot", 0x01234567)
found["oom_score_adj"] = attempt(
    lambda: os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"-1000"))
found["mknod"] = attempt(lambda: os.mknod("/tmp/disk", stat.S_IFBLK | 0o600, os.makedev(254, 0)))
found["hostname"] = socket.gethostname()
found["env"] = dict(os.environ)
found["cwd"] = os.getcwd()
found["argv"] = sys.argv[:1]
found["encoding"] = [sys.getfilesystemencoding(), sys.stdout.encoding]
found["time"] = time.time()
found["random"] = [os.urandom(8).hex(), open("/proc/sys/kernel/random/boot_id",
                                                          encoding="ascii").read().strip()]
found["machine_id"] = open("/etc/machine-id", encoding="ascii").read().strip() \
    if os.path.exists("/etc/machine-id") else ""
found["mounts"] = [line.split()[1:4] for line in open("/proc/mounts", encoding="utf-8")]
found["kernel"] = os.uname().release
print(json.dumps(found))
