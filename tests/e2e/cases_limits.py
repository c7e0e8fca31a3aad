"""Every limit holds at its edge and over it, and the verdict says which."""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess
import time

from harness import EXIT_CODES, Fail, Skip, case, control_groups

MIB = 1 << 20


def timed_out(t, program, wall="4s", **options):
    result = t.run(program, "--wall", wall, timeout=90, **options)
    t.expect(result, "timeout", reason="wall", exit_code=None)
    return result


@case("a sleeping program ends at the wall limit and keeps what it wrote")
def sleeper(t):
    result = timed_out(t, "import sys, time\nsys.stdout.write('partial')\nsys.stdout.flush()\n"
                          "time.sleep(3600)\n", wall="12s")  # Python itself must start within it
    t.equal(result.out, b"partial", "stdout")


@case("a program that stops its whole group ends at the wall limit")
def stopped(t):
    timed_out(t, "import os, signal\nos.kill(0, signal.SIGSTOP)\n")


@case("a busy program that ignores every signal ends at the wall limit")
def stubborn(t):
    timed_out(t, "import signal\nfor s in range(1, 65):\n    try:\n"
                 "        signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError):\n"
                 "        pass\nwhile True:\n    pass\n")


@case("a busy Node.js program ends at the wall limit")
def busy_node(t):
    timed_out(t, "for (;;) {}\n", js=True)


@case("setting the clock changes nothing about the wall limit")
def clock(t):
    timed_out(t, "import time\ntry:\n    time.clock_settime(time.CLOCK_REALTIME, 0)\n"
                 "except OSError:\n    pass\ntime.sleep(600)\n")


@case("CPU time counts every process, and its limit is told apart from the wall's")
def cpu(t):
    program = "import os\nfor _ in range(3):\n    if os.fork() == 0:\n        break\nwhile True:\n    pass\n"
    result = t.run(program, "--cpu", "2s", timeout=90)
    t.expect(result, "timeout", reason="cpu", exit_code=None)


@case("a program that grows beyond --memory is oom")
def grows(t):
    result = t.run("keep = []\nwhile True:\n    keep.append(b'm' * (4 << 20))\n", "--memory", "200M")
    t.expect(result, "oom")


@case("memory well below the limit is there")
def fits(t):
    result = t.run("b = bytearray(96 << 20)\nfor i in range(0, len(b), 4096):\n    b[i] = 1\n"
                   "print(len(b))\n", "--memory", "192M")
    t.expect(result, "success", stdout=b"%d\n" % (96 * MIB))
    t.true(result.peaks["guest_memory_bytes"] >= 96 * MIB, f"peaks do not show it: {result.peaks}")


@case("a child that runs out of memory is listed, the verdict follows the main program")
def child_oom(t):
    program = "import os\npid = os.fork()\nif pid == 0:\n    keep = []\n" \
              "    while True:\n        keep.append(b'm' * (4 << 20))\n" \
              "print(os.waitpid(pid, 0)[1])\n"
    result = t.run(program, "--memory", "128M")
    t.expect(result, "success", stdout=b"9\n")
    t.true("oom" in str(result.events), f"no oom event: {result.events}")


@case("--pids is exact: the main process and N - 1 others, not one more")
def pids(t):
    program = "import os, time\nn = 0\ntry:\n    while True:\n        if os.fork() == 0:\n" \
              "            time.sleep(600)\n            os._exit(0)\n        n += 1\n" \
              "except OSError as e:\n    print(e.errno, n)\n"
    t.expect(t.run(program, "--pids", "16"), "success", stdout=b"11 15\n")


@case("a fork bomb ends like any other program")
def bomb(t):
    program = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n"
    t.expect(t.run(program, "--wall", "4s", timeout=90), ("timeout", "user_exception"))


@case("a full disk is ENOSPC, not the end")
def disk_full(t):
    program = "import os\ntotal = {}\nfor place in ('/work', '/out', '/tmp'):\n" \
              "    with open(place + '/fill', 'wb', buffering=0) as f:\n        n = 0\n" \
              "        try:\n            while True:\n                n += f.write(b'd' * 65536)\n" \
              "        except OSError as e:\n            total[place] = (e.errno, n < 40 << 20)\n" \
              "    os.unlink(place + '/fill')\nprint(total)\n"
    want = b"{'/work': (28, True), '/out': (28, True), '/tmp': (28, True)}\n"
    t.expect(t.run(program, "--disk", "32M"), "success", stdout=want)


@case("the places in memory are bounded too")
def memory_places(t):
    program = "import os\nfor place in ('/dev/shm', '/var/tmp', '/run', '/dev', '/root', '/etc', '/'):\n" \
              "    n = 0\n    try:\n        with open(place + '/fill', 'wb', buffering=0) as f:\n" \
              "            while n < 256 << 20:\n                n += f.write(b'd' * 65536)\n" \
              "            print(place, 'unbounded')\n    except OSError:\n        pass\n" \
              "    try:\n        os.unlink(place + '/fill')\n    except OSError:\n        pass\n"
    t.expect(t.run(program, "--memory", "256M"), ("success", "oom"), stdout=b"")


@case("--inodes is exact: N files can be made, the next is ENOSPC")
def inodes(t):
    program = "n = 0\ntry:\n    while n < 5000:\n        open(f'/tmp/{n}', 'w').close()\n        n += 1\n" \
              "except OSError as e:\n    print(e.errno, n)\n"
    t.expect(t.run(program, "--inodes", "1024"), "success", stdout=b"28 1024\n")


@case("--vcpus 2 gives two processors")
def vcpus(t):
    result = t.run("import os\nprint(os.cpu_count(), len(os.sched_getaffinity(0)))\n", "--vcpus", "2")
    t.expect(result, "success", stdout=b"2 2\n")


# Outputs: option, at the edge, over it, the reason
OUTPUT_CAPS = [
    ("output bytes", ("--out-bytes", "100000"), "open('/out/a', 'wb').write(b'a' * {})\n",
     100000, 100001, "output_bytes"),
    ("output files", ("--out-files", "5"), "for n in range({}):\n    open(f'/out/{{n}}', 'w').close()\n",
     5, 6, "output_files"),
    ("output depth", ("--out-depth", "4"),
     "import os\nd = '/out/' + '/'.join('d' * ({} - 1))\nos.makedirs(d)\nopen(d + '/f', 'w').close()\n",
     4, 5, "output_depth"),
]


def add(name, option, program, edge, over, reason):
    @case(f"{name} at the cap are a success")
    def at_edge(t):
        result = t.run(program.format(edge), *option, out=True)
        t.expect(result, "success")
        t.true(result.outputs, "no outputs")

    @case(f"{name} over the cap are an overflow and none is kept")
    def over_edge(t):
        result = t.run(program.format(over), *option, out=True)
        t.expect(result, "output_overflow", reason=reason)
        t.equal(list(result.out_dir.iterdir()), [], "files in --out")


for row in OUTPUT_CAPS:
    add(*row)


@case("a sparse file of a terabyte is an overflow, found at once")
def sparse(t):
    program = "f = open('/out/huge', 'wb')\nf.truncate(1 << 40)\n"
    result = t.run(program, out=True, timeout=60)
    if result.doc and result.verdict == "user_exception":  # the file system may refuse it first
        t.expect(result, "user_exception", exit_code=1)
    else:
        t.expect(result, "output_overflow", reason="output_bytes")


@case("stdin, input bytes and input files at their caps pass, one more is rejected before a start")
def input_edges(t):
    program = "import os, sys\nprint(len(sys.stdin.read()), sorted(os.listdir('/in')))\n"
    size = len(program.encode())
    caps = ["--stdin-bytes", "5", "--in-files", "2", "--in-bytes", str(size + 3)]
    t.expect(t.run(program, *caps, stdin=b"12345", files={"a": b"1", "b": b"22"}), "success",
             stdout=b"5 ['a', 'b']\n")
    for word, stdin, files in (("stdin", b"123456", {"a": b"1"}),
                               ("--in-files", b"1", {"a": b"", "b": b"", "c": b""}),
                               ("--in-bytes", b"1", {"a": b"22", "b": b"33"})):
        result = t.run(program, *caps, stdin=stdin, files=files)
        t.expect(result, "rejected")
        t.true(word in result.message, f"the message lacks {word}: {result.message}")


# How a machine ends, and what the host promises

WAITING = "import time\nprint('ready', flush=True)\ntime.sleep(600)\n"
GRACE_NS = 250_000_000
BUSY = 8  # this host runs other machines beside the case


@case("at the wall limit the machine ends within the grace, and the result says how")
def grace(t):
    result = timed_out(t, WAITING, wall="8s")
    limits = [e for e in result.events if e["kind"] == "wall_limit"]
    t.equal(len(limits), 1, "events of the wall limit")
    at, phases, cleanup = limits[0]["at_ns"], result.phases, result.cleanup
    t.true(at - phases["started_ns"] >= 8_000_000_000, f"the limit struck early: {phases}")
    t.true(at <= phases["killed_ns"] <= at + BUSY * GRACE_NS, f"killed late: {at}, {phases}")
    t.equal(phases["exited_ns"], None, "an exit that was the host's doing")
    t.equal(cleanup["ended_by"], "pidfd", "what ended the machine")
    answered = result.peaks["guest_memory_bytes"] is not None
    t.equal(cleanup["stop"], "answered" if answered else "silent", "the agent's last report")


@case("a program that ended by itself is not asked for a report")
def not_asked(t):
    result = t.run("print(1)\n")
    t.expect(result, "success")
    t.equal(result.cleanup["stop"], "not_asked", "stop")


@case("without a memory control group the machine is watched, and the result says so", root=True)
def no_memory_group(t):
    mount = pathlib.Path("/sys/fs/cgroup/memory")
    if not mount.is_mount():
        raise Skip("no cgroup v1 memory controller is mounted at /sys/fs/cgroup/memory")
    wrap = ("unshare", "-m", "sh", "-ec", f"umount {mount}; exec \"$@\"", "sh")
    result = t.run("print(1)\n", wrap=wrap)
    t.expect(result, "success", stdout=b"1\n")
    t.equal(result.machine["host_limits"]["memory"], "absent", "the memory limit")
    absent = {e["limit"]: e for e in result.machine["host_limits_absent"]}
    t.true("ten times a second" in absent["memory"]["instead"], f"{absent}")
    t.true(absent["memory"]["why"], "no reason")


def slot_text(text, number, **values):
    """A slot's file for another number, with other promises."""
    uid = int(re.search(r"^uid=(\d+)$", text, re.M)[1]) + number
    for key, value in {"uid": uid, "monitor": 0, "monitor_start": 0, **values}.items():
        text = re.sub(rf"^{key}=\d+$", f"{key}={value:020}", text, flags=re.M)
    return text


@contextlib.contextmanager
def promised(state, numbers, **values):
    """Machines that do not exist, as their supervisors would have them in the ledger."""
    own = (state / "slots" / "0").read_text(encoding="ascii")
    held = []
    try:
        for number in numbers:
            path = state / "slots" / str(number)
            held.append((path, open(path, "x", encoding="ascii")))
            fcntl.flock(held[-1][1], fcntl.LOCK_EX)
            held[-1][1].write(slot_text(own, number, **values))
            held[-1][1].flush()
        yield
    finally:
        for path, file in held:
            path.unlink()
            file.close()


def refused(t, state, reason, word, *options, wrap=()):
    result = t.run("print(1)\n", *options, state=state, wrap=wrap, timeout=60)
    t.expect(result, "capacity_rejected", reason=reason)
    t.true(word in result.message, f"the message lacks {word!r}: {result.message}")
    t.equal(result.machine["host_limits"], {}, "control groups of a machine that never was")


@case("vCPUs, memory and disk are given out to the last one, and one more is refused by name", root=True)
def capacity(t):
    state = t.private_state()
    one_cpu = ("taskset", "-c", str(min(os.sched_getaffinity(0))))  # room for 4 vCPUs
    waiting = {"memory": 0, "vcpus": 0, "disk": 0}  # without a job: counts as none at once
    child = t.start_and_wait(WAITING, "--vcpus", "2", state=state)
    try:
        refused(t, state, "machines", "vCPUs: needs 3, 2 left of 4", "--vcpus", "3", wrap=one_cpu)
        with promised(state, range(1, 80), **waiting):  # the last of the vCPUs
            t.expect(t.run("print(1)\n", "--vcpus", "2", state=state, wrap=one_cpu), "success")
        with promised(state, [1], memory=0, vcpus=2, disk=0):
            refused(t, state, "machines", "vCPUs: needs 1, 0 left of 4", wrap=one_cpu)
        with promised(state, [1], memory=1 << 60, vcpus=0, disk=0):
            refused(t, state, "memory", "memory in total")
        with promised(state, [1], memory=0, vcpus=0, disk=1 << 60):
            refused(t, state, "disk", "disk")
        t.equal(child.poll(), None, "the first machine's end")
    finally:
        child.terminate()
        child.communicate(timeout=30)
    t.equal(sorted(p.name for p in (state / "slots").iterdir()), ["lock"], "slots after the end")


@case("no process to be had for the supervisor is no room now, not a failure", root=True)
def no_process(t):
    base = pathlib.Path("/sys/fs/cgroup/pids")
    if not (base / "cgroup.procs").exists():
        raise Skip("no cgroup v1 pids controller is mounted at /sys/fs/cgroup/pids")
    group = base / f"airlock-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "pids.max").write_text("1")
        wrap = ("sh", "-ec", f"echo $$ >{group}/cgroup.procs; exec \"$@\"", "sh")
        result = t.run("print(1)\n", wrap=wrap)
    finally:
        group.rmdir()
    t.expect(result, "capacity_rejected", reason="machines")
    t.true("start the supervisor" in result.message, result.message)


def group_of(state, child):
    """The first control group of the job that is seen."""
    end = time.monotonic() + 60
    while not (found := control_groups(state)):
        if child.poll() is not None or time.monotonic() > end:
            raise Fail("no control group of the job was seen")
        time.sleep(0.01)
    return pathlib.Path(found[0])


@case("what else lives in a machine's control group dies with it, and the result says so", root=True)
def stranger_in_group(t):
    state = t.private_state()
    (state / "slots").mkdir(mode=0o700, exist_ok=True)
    child = t.start(t.command(program="print(1)\n", state=state))
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        (group_of(state, child) / "cgroup.procs").write_text(str(stranger.pid))
        raw = child.communicate(timeout=180)[0]
        doc = json.loads(raw)
        t.equal(doc["cleanup"]["ended_by"], "cgroup", "what ended the machine")
        t.equal(doc["cleanup"]["verified"], True, "cleanup.verified")
        t.equal(stranger.wait(5), -signal.SIGKILL, "the stranger's end")
    finally:
        stranger.kill()
        stranger.wait()
    t.equal(control_groups(state), [], "control groups")


@case("a cleanup that fails is told, and its slot is out of use until it succeeds", root=True)
def failed_cleanup(t):
    state = t.private_state()
    (state / "slots").mkdir(mode=0o700, exist_ok=True)
    child = t.start(t.command(program="print(1)\n", state=state))
    inner = group_of(state, child) / "foreign"
    inner.mkdir()
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        (inner / "cgroup.procs").write_text(str(stranger.pid))
        raw, err = child.communicate(timeout=180)
        doc = json.loads(raw)
        checks = doc["cleanup"]["checks"]
        t.equal(doc["cleanup"]["verified"], False, "cleanup.verified")
        t.equal((checks["control_group_gone"], checks["slot_released"]), (False, False), "the checks of groups and slot")
        t.equal(checks["monitor_reaped"], True, "the check of the monitor")
        t.equal(child.returncode, EXIT_CODES[doc["verdict"]], "exit code")
        t.true(b"not verified" in err and b"control_group_gone" in err, f"stderr: {err!r}")
        time.sleep(12)  # the reaper's own try
        t.true((state / "slots" / "0").stat().st_size > 0, "the slot was given back")
        result = t.run("print(2)\n", state=state)  # others are not kept out
        t.expect(result, "success", stdout=b"2\n")
        t.true("slot 0 stays out of use" in str(result.cleanup["left_over"]), result.cleanup)
        t.true("slot 0 stays out of use" in result.err, f"stderr: {result.err!r}")
        t.true((state / "slots" / "0").exists(), "slot 0 was cleared while its group stands")
    finally:
        stranger.kill()
        stranger.wait()
        inner.rmdir()
    result = t.run("print(3)\n", state=state)
    t.expect(result, "success", stdout=b"3\n")
    t.equal(result.cleanup["left_over"], None, "left_over once it could be removed")
    t.equal(control_groups(state), [], "control groups")
    t.equal(sorted(p.name for p in (state / "slots").iterdir()), ["lock"], "slots")
