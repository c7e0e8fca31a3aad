"""The host after a job, and while others run: nothing left, nothing leaked, nothing driven."""
import concurrent.futures
import json
import os
import pathlib
import pty
import random
import re
import shutil
import signal
import subprocess
import time

from harness import (AIRLOCK, COLD, FALSE_KVM, ROOT, Fail, Skip, case, control_groups, environment, mounts,
                     own_processes, temporary_names, tree_of)

WAITING = "import time\nprint('ready', flush=True)\ntime.sleep(600)\n"


def snapshot(state):
    return {"state": tree_of(state), "temporary files": temporary_names(), "mounts": mounts(),
            "control groups": control_groups(state), "processes": own_processes()}


def unchanged(t, state, before):
    """Within two seconds the host is what it was, without another start of airlock."""
    end = time.monotonic() + 2
    while snapshot(state) != before and time.monotonic() < end:
        time.sleep(0.05)
    after = snapshot(state)
    for what, want in before.items():
        t.equal(after[what], want, what)


def settled(state):
    """The state directory once the directories that a first job makes are there."""
    (state / "slots").mkdir(mode=0o700, exist_ok=True)
    (state / "slots" / "lock").touch(mode=0o600)
    return snapshot(state)


@case("after a job no process, mount or file is left", alone=True)
def nothing_left(t):
    state = t.private_state()
    before = settled(state)
    t.expect(t.run("print(1)\n", state=state, files={"a": b"1"}, out=True), "success")
    t.wait_gone(t.dir)
    unchanged(t, state, before)


def ended(name, how, code):
    @case(name, alone=True)
    def check(t):
        state = t.private_state()
        before = settled(state)
        out = t.path("out")
        out.mkdir()
        child = t.start_and_wait(WAITING, "--out", out, state=state)
        t.true(t.users_of(t.dir), "no process of the job was found while it ran")
        how(t, child)
        try:
            got = child.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()
            raise Fail("airlock did not end") from None
        t.equal(got, code, f"exit code ({child.stderr.read()[-300:]!r})")
        t.wait_gone(t.dir)
        unchanged(t, state, before)
        t.equal(list(out.iterdir()), [], "files in --out")
    return check


def children_of(pid):
    """Direct children; the supervisor is one of them."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                after_name = pathlib.Path(f"/proc/{entry}/stat").read_text("utf-8").rpartition(")")[2]
            except OSError:
                continue
            if int(after_name.split()[1]) == pid:
                found.append(int(entry))
    return found


def supervisor_of(child):
    """Its pid, or None: not yet there, or gone."""
    return next((p for p, name in own_processes() if name == "airlock-sup" and p in children_of(child.pid)),
                None)


def kill_supervisor(t, child):
    found = supervisor_of(child)
    t.true(found is not None, "no supervisor of the job was found")
    os.kill(found, signal.SIGKILL)


ended("Ctrl-C cancels and leaves nothing", lambda t, c: c.send_signal(signal.SIGINT), 9)
ended("SIGTERM cancels and leaves nothing", lambda t, c: c.send_signal(signal.SIGTERM), 9)
ended("SIGKILL of the command line leaves nothing", lambda t, c: c.kill(), -signal.SIGKILL)
ended("SIGKILL of the supervisor is a sandbox failure and leaves nothing", kill_supervisor, 7)


def monitor_of(state):
    """(pid, path of its memory or v2 group) of the one machine of this state directory."""
    for group in control_groups(state):
        pids = pathlib.Path(group, "cgroup.procs").read_text(encoding="utf-8").split()
        if pids:
            return int(pids[0]), group
    raise Fail("no machine is in a control group")


def engine_of(monitor):
    return "kvm" if os.readlink(f"/proc/{monitor}/exe").endswith("/airlock-vmm") else "tcg"


@case("the jail around a running machine has the expected posture, every thread", alone=True, root=True)
def posture(t):
    state = t.private_state()
    settled(state)
    child = t.start_and_wait(WAITING, "--disk", "32M", state=state)
    try:
        pid, group = monitor_of(state)
        status = dict(line.split(":\t", 1) for line in
                      pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines())
        uid = status["Uid"].split()[0]
        t.true(0x78000000 <= int(uid) < 0x7ffe0000, f"the machine's uid is {uid}")
        check = subprocess.run([ROOT / "build/tests/unit/sup/posture", str(pid), uid, uid,
                                str(32 << 20), pathlib.Path(group).name, engine_of(pid)],
                               capture_output=True, check=False)
        t.equal((check.returncode, check.stdout), (0, b""), "departures from the posture")
    finally:
        child.send_signal(signal.SIGINT)
        child.wait(20)


@case("a monitor that is stopped (SIGSTOP) ends at the wall limit", alone=True)
def stopped_monitor(t):
    state = t.private_state()
    before = settled(state)
    # A machine that is emulated in a machine may need ten seconds to its program's first line.
    child = t.start_and_wait(WAITING, "--wall", "30s" if COLD else "10s", state=state)
    os.kill(monitor_of(state)[0], signal.SIGSTOP)
    _, said = child.communicate(timeout=90)
    t.equal(child.returncode, 3, f"exit code ({said[-300:]!r})")
    result = json.loads(next((state / "records").glob("*.json")).read_text(encoding="ascii"))
    t.equal((result["verdict"], result["reason"]), ("timeout", "wall"), "verdict")
    t.true(result["cleanup"]["verified"], f"cleanup {result['cleanup']}")
    unchanged(t, state, before)


@case("two hostile machines leave a third, good job right and in time", alone=True)
def neighbours(t):
    hostile = ["import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n",
               "hold = []\nwhile True:\n    hold.append(bytearray(b'x') * (1 << 20))\n"]
    children = [t.start(t.command("--wall", "25s", "--vcpus", "2", program=p)) for p in hostile]
    try:
        time.sleep(5)
        result = t.run("print(sum(range(100000)))\n", "--wall", "30s")
        t.expect(result, "success", stdout=b"4999950000\n")
    finally:
        for child in children:
            verdict = json.loads(child.communicate(timeout=120)[0])
            t.true(verdict["verdict"] in ("timeout", "oom", "user_exception"), verdict["message"])


@case("a job that is interrupted while it boots leaves nothing", alone=True)
def interrupted_early(t):
    state = t.private_state()
    before = settled(state)
    for delay in (0.02, 0.3, 1.0):
        child = t.start(t.command(program=WAITING, state=state, as_json=False))
        time.sleep(delay)
        child.send_signal(signal.SIGINT)
        t.true(child.wait(20) in (9, -signal.SIGINT), f"exit code {child.returncode} after {delay} s")
        t.wait_gone(t.dir)
        unchanged(t, state, before)


@case("SIGKILL at 50 random moments, of command line or supervisor, leaves nothing", alone=True)
def killed_anywhere(t):
    state = t.private_state()
    before = settled(state)
    out = t.path("out")
    out.mkdir()
    dice = random.Random(20261129)
    program = "open('/out/a', 'w').write('x' * 100000)\nprint('there')\n"
    moments = {"supervisor": 0, "command line": 0}
    for round_number in range(50):
        boots = round_number % 5 == 0  # then the saved state is built once more
        if boots:
            shutil.rmtree(state / "templates", ignore_errors=True)
        child = t.start(t.command("--out", out, program=program, state=state))
        time.sleep(dice.uniform(0.0, 5.0 if boots else 1.5))
        victim = supervisor_of(child) if round_number % 2 else child.pid
        if victim is not None and child.poll() is None:
            os.kill(victim, signal.SIGKILL)
            moments["supervisor" if round_number % 2 else "command line"] += 1
        child.communicate(timeout=20)
        unchanged(t, state, before)
        t.true([p.name for p in out.iterdir()] in ([], ["a"]), f"in --out: {list(out.iterdir())}")
        (out / "a").unlink(missing_ok=True)
    odd = [p.name for p in (state / "templates").iterdir() if not re.fullmatch("lock|[0-9a-f]{64}", p.name)]
    t.equal(odd, [], "unfinished saved states")
    t.true(min(moments.values()) >= 15, f"too few kills: {moments}")


@case("what was left by killed supervisor and reaper is removed by the next start", alone=True)
def killed_both(t):
    state = t.private_state()
    before = settled(state)
    child = t.start_and_wait(WAITING, state=state)
    for pid, name in own_processes():
        if name in ("airlock-sup", "airlock-reap"):
            os.kill(pid, signal.SIGSTOP)
    for pid, name in own_processes():
        if name in ("airlock-sup", "airlock-reap"):
            os.kill(pid, signal.SIGKILL)
    t.equal(child.wait(20), 7, "exit code")
    child.stderr.close()
    left = snapshot(state)
    t.true(left["control groups"] and left["state"] != before["state"],
           "nothing was left: the case shows nothing")
    t.expect(t.run("print(1)\n", state=state), "success")
    unchanged(t, state, before)


@case("values of --env are in no process listing and no result")
def secret_env(t):
    secret = "needle-3f9a7c"
    program = "import os, time\nprint('ready', flush=True)\ntime.sleep(2)\n" \
              "raise SystemExit(0 if os.environ['TOKEN'].startswith('needle') else 4)\n"
    child = t.start_and_wait(program, "--env", f"TOKEN={secret}")
    seen = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                line = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes()
            except OSError:
                continue
            if secret.encode() in line:
                seen.append((entry, line[:60]))
    child.communicate(timeout=60)
    t.equal(child.returncode, 0, "exit code")
    t.equal(seen, [], "processes that show it")
    result = t.run("print(1)\n", "--env", f"TOKEN={secret}")
    t.expect(result, "success")
    t.true(secret.encode() not in result.raw and secret not in result.err, "the result shows it")


@case("on a terminal the program's control characters are made harmless")
def terminal(t):
    program = "import sys\nsys.stdout.write('\\x1b]0;owned\\x07\\x1b[2Jplain\\u202etext\\n')\n" \
              "sys.stdout.flush()\nsys.stderr.write('\\x9b31m\\x1b[8m\\n')\n"
    ours, theirs = pty.openpty()
    child = t.start(t.command(program=program, as_json=False), stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while True:
            data = os.read(ours, 4096)
            if not data:
                break
            shown += data
    except OSError:
        pass  # the other side is closed: the end
    os.close(ours)
    t.equal(child.wait(20), 0, "exit code")
    t.true(b"plain" in shown and b"text" in shown, f"the text is missing: {shown!r}")
    for what in (b"\x1b]0;", b"\x1b[2J", b"\x1b[8m", b"\x07", "\u202e".encode(), b"\x9b31", b"\xc2\x9b"):
        t.true(what not in shown, f"{what!r} reached the terminal: {shown!r}")


@case("two jobs at once do not mix")
def two_at_once(t):
    program = "import sys, time\ntime.sleep(1)\nprint(sys.argv[1] * 1000)\n" \
              "open('/out/' + sys.argv[1], 'w').write(sys.argv[1])\n"
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        lines = []
        for name in ("a", "b"):
            (t.dir / name).mkdir()
            lines.append(t.command("--out", t.dir / name, program=program, args=[name]))
        results = list(pool.map(t.execute, lines))
    for name, result in zip(("a", "b"), results):
        t.expect(result, "success", stdout=name.encode() * 1000 + b"\n")
        t.equal(sorted(p.name for p in (t.dir / name).iterdir()), [name], "outputs")
    t.true(results[0].machine["id"] != results[1].machine["id"], "one machine id for two machines")


@case("a result reader that stalls does not lose anything")
def stalled_reader(t):
    child = t.start(t.command("--stdout", "4M", program="print('s' * 3_000_000)\n", as_json=False))
    time.sleep(6)
    out, _ = child.communicate(timeout=60)
    t.equal((child.returncode, len(out)), (0, 3_000_001), "exit code and bytes")


@case("a reader that goes away cancels the job and leaves nothing", alone=True)
def closed_reader(t):
    state = t.private_state()
    child = t.start_and_wait("import time\nprint('ready', flush=True)\nwhile True:\n"
                             "    print('x' * 1000, flush=True)\n    time.sleep(0.1)\n", state=state)
    child.stdout.close()
    try:
        child.wait(20)
    except subprocess.TimeoutExpired:
        child.kill()
        raise Fail("airlock kept running without a reader") from None
    t.true(child.returncode != 0, "exit code 0 although output was lost")
    t.wait_gone(t.dir)


@case("that KVM does not work is found out once, and said again at once", root=True)
def remembered_probe(t):
    if not os.path.exists("/dev/kvm"):
        raise Skip("this host has no /dev/kvm that a false one could stand for")
    state = t.private_state()
    shutil.rmtree(state / "memo", ignore_errors=True)
    for again in (False, True):
        result = t.run("print(1)\n", "--engine", "kvm", wrap=FALSE_KVM, state=state)
        t.expect(result, "rejected", reason="engine_unavailable")
        t.equal("found out before" in result.message, again, f"remembered: {result.message}")
    t.expect(t.run("print(1)\n", "--engine", "auto", wrap=FALSE_KVM, state=state), "success")


@case("doctor tells what this host can do, for people and for programs")
def doctor(t):
    asked = [t.start([AIRLOCK, "doctor", *options]) for options in ([], ["--json"])]
    plain, machine = [child.communicate(timeout=120)[0] for child in asked]
    t.true(b"tcg" in plain, f"no engine named: {plain[-300:]!r}")
    t.true(isinstance(json.loads(machine), dict), "--json is not an object")
