"""The edge of each limit: what is still allowed is there, one more is not (docs/limits.md)."""
import time

from cases_host import settled
from harness import case, control_groups

MIB = 1 << 20


@case("--disk is exact: every free block can be written, not one more, and a freed one again")
def disk_edge(t):
    program = """
import os
fs = os.statvfs('/work')
fd = os.open('/work/fill', os.O_CREAT | os.O_WRONLY)
n = 0
try:
    while True:
        os.write(fd, b'd' * 4096)
        os.fsync(fd) if n % 64 == 0 else None
        n += 1
except OSError as e:
    print('errno', e.errno)
os.fsync(fd)
print('most', n <= fs.f_bavail, 'all but tables', n >= fs.f_bavail - 4, 'left', os.statvfs('/work').f_bavail)
os.ftruncate(fd, (n - 1) * 4096)
os.lseek(fd, 0, os.SEEK_END)
again = 0
try:
    while True:
        os.write(fd, b'd' * 4096)
        again += 1
except OSError as e:
    print('again', again, e.errno)
print('inside', fs.f_blocks * 4096 < 16 << 20)
"""
    result = t.run(program, "--disk", "16M")
    t.expect(result, "success",
             stdout=b"errno 28\nmost True all but tables True left 0\nagain 1 28\ninside True\n")


@case("--memory counts every page: 20 MiB less fit beside the interpreter, the limit itself never does")
def memory_edge(t):
    # Children touch the pages and their parent stays small, so that one program can try it twice.
    program = """
import mmap, os

def child(mib):
    pid = os.fork()
    if pid == 0:
        block = mmap.mmap(-1, mib << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        block[::4096] = b'1' * (mib << 8)
        os._exit(0)
    return os.waitpid(pid, 0)[1]

print([child(mib) for mib in (76, 96)])
"""
    result = t.run(program, "--memory", "96M", "--wall", "120s", "--cpu", "120s")
    t.expect(result, "success", stdout=b"[0, 9]\n")
    peak = result.peaks["guest_memory_bytes"]
    t.true(90 * MIB < peak <= 96 * MIB, f"peak of the program's group: {peak}")


@case("open files are 1024, up to 4096, and not one more")
def files_edge(t):
    program = """
import os, resource
def count():
    fds = []
    try:
        while True:
            fds.append(os.open('/dev/null', os.O_RDONLY))
    except OSError as e:
        most = max(fds) + 1
        for fd in fds:
            os.close(fd)
        return most, e.errno
print(count())
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
print(count())
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (4097, 4097))
except ValueError:
    print('refused')
"""
    t.expect(t.run(program), "success", stdout=b"(1024, 24)\n(4096, 24)\nrefused\n")


@case("/dev/shm holds half of --memory and 4096 files, not one more")
def shm_edge(t):
    program = """
import os
n = 0
try:
    with open('/dev/shm/fill', 'wb', buffering=0) as f:
        while True:
            n += f.write(b's' * 4096)
except OSError as e:
    print(e.errno, n)
os.unlink('/dev/shm/fill')
n = 0
try:
    while True:
        open(f'/dev/shm/{n}', 'w').close()
        n += 1
except OSError as e:
    print(e.errno, n)
"""
    # The directory itself is one of the 4096. A machine is made for steps of 64 MiB: 100M has to have it resized.
    for options, half in ((["128M"], 64), (["100M"], 50), (["100M", "--root"], 50)):
        t.expect(t.run(program, "--memory", *options), "success", stdout=b"28 %d\n28 4095\n" % (half * MIB))


@case("an output's name of 255 bytes comes through, 256 cannot be made")
def name_edge(t):
    program = "open('/out/' + 'n' * 255, 'w').close()\ntry:\n    open('/out/' + 'n' * 256, 'w')\n" \
              "except OSError as e:\n    print(e.errno)\n"
    result = t.run(program, out=True)
    t.expect(result, "success", stdout=b"36\n")
    t.equal([p.name for p in result.out_dir.iterdir()], ["n" * 255], "outputs")


# 16 directories of 240 bytes with their slashes are 3856 bytes of a path.
LONG_PATH = """
import os
at = os.open('/out', os.O_RDONLY)
for _ in range(16):
    os.mkdir('d' * 240, dir_fd=at)
    at = os.open('d' * 240, os.O_RDONLY, dir_fd=at)
os.close(os.open('f' * {}, os.O_CREAT | os.O_WRONLY, dir_fd=at))
"""


@case("an output's path of 4096 bytes comes through, one of 4097 is an overflow and none is kept")
def path_edge(t):
    result = t.run(LONG_PATH.format(240), "--out-depth", "17", out=True)
    t.expect(result, "success")
    t.equal([len(o["name"]) for o in result.outputs], [4096], "lengths of the outputs' names")
    result = t.run(LONG_PATH.format(241), "--out-depth", "17", out=True)
    t.expect(result, "output_overflow", reason="output_depth")
    t.equal(list(result.out_dir.iterdir()), [], "files in --out")


@case("a file of exactly --out-bytes beside an empty one passes; bytes of all files count together")
def bytes_edge(t):
    program = "open('/out/a', 'wb').write(b'a' * {})\nopen('/out/b', 'wb').write(b'b' * {})\n"
    t.expect(t.run(program.format(65536, 0), "--out-bytes", "64K", out=True), "success")
    result = t.run(program.format(65535, 2), "--out-bytes", "64K", out=True)
    t.expect(result, "output_overflow", reason="output_bytes")
    t.equal(list(result.out_dir.iterdir()), [], "files in --out")


@case("an input's name of 255 bytes arrives, one of 256 is rejected")
def input_name_edge(t):
    data = t.write("data", b"1")
    program = "import os\nprint([len(n) for n in os.listdir('/in')])\n"
    t.expect(t.run(program, "--in", f"{data}:{'i' * 255}"), "success", stdout=b"[255]\n")
    t.expect(t.run(program, "--in", f"{data}:{'i' * 256}"), "rejected")


@case("the wall limit strikes at its time: not before, and little later")
def wall_edge(t):
    result = t.run("import time\ntime.sleep(1)\n", "--wall", "30s")
    t.expect(result, "success")
    ran_ns = result.phases["exited_ns"] - result.phases["started_ns"]
    t.true(1e9 <= ran_ns < 30e9, f"ran {ran_ns} ns")
    # The same program again with less than it needed at least.
    result = t.run("import time\ntime.sleep(1)\n", "--wall", "999ms")
    t.expect(result, "timeout", reason="wall")
    struck = next(e["at_ns"] for e in result.events if e["kind"] == "wall_limit")
    over_ms = (struck - result.phases["started_ns"]) / 1e6 - 999
    t.true(0 <= over_ms < 1000, f"the limit struck {over_ms:.1f} ms after its time")


def settle(t, child, state, seconds):
    """Waits until the machine was there and is gone, with nobody reading."""
    end = time.monotonic() + seconds
    seen = False
    while time.monotonic() < end and child.poll() is None:
        there = bool(control_groups(state))
        if seen and not there:
            return
        seen = seen or there
        time.sleep(0.05)
    left = f"exit {child.poll()}, the machine was there: {seen}"
    child.kill()
    t.true(False, f"after {seconds} s the machine has not gone: {left}")


@case("64 MiB to a reader that does not read: the machine ends all the same, and nothing is lost", alone=True)
def unread_success(t):
    state = t.private_state()
    settled(state)
    program = "import sys\nfor _ in range(1024):\n    sys.stdout.write('u' * 65536)\n"
    child = t.start(t.command("--stdout", "64M", "--wall", "100s", "--cpu", "100s", program=program,
                              state=state, as_json=False))
    settle(t, child, state, 150)
    out, _ = child.communicate(timeout=60)
    t.equal((child.returncode, len(out), out.count(b"u")), (0, 64 * MIB, 64 * MIB), "exit code, bytes")


@case("the wall limit strikes although nobody reads what was written", alone=True)
def unread_timeout(t):
    state = t.private_state()
    settled(state)
    program = "import sys, time\nsys.stdout.write('u' * (8 << 20))\nsys.stdout.flush()\ntime.sleep(600)\n"
    child = t.start(t.command("--stdout", "64M", "--wall", "20s", program=program, state=state,
                              as_json=False))
    settle(t, child, state, 150)
    out, _ = child.communicate(timeout=60)
    t.equal((child.returncode, len(out)), (3, 8 * MIB), "exit code, bytes")
