"""A pool of restored machines: each serves one job, none can be told from a new one, none is left."""
import json
import os
import pathlib
import queue
import signal
import subprocess
import threading
import time

import harness
from harness import AIRLOCK, Fail, case

JOBS = int(os.environ.get("AIRLOCK_POOL_JOBS", "50"))
DRIVER = harness.ROOT / "build" / "tests" / "e2e" / "pool-driver"
PATIENT = ["--wall", "60s", "--cpu", "60s"]

UNIQUE = harness.UNIQUE + "import time\nprint(time.time())\n"


class Pool:
    """The driver of tests/e2e/pool-driver.c, which owns a pool."""

    def __init__(self, t, members, age_ms=0, state=None):
        self.t = t
        self.state = pathlib.Path(state or t.private_state())
        self.child = subprocess.Popen(
            self.command(members, age_ms), cwd=t.dir, text=True,
            env=harness.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.answers = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def command(self, members, age_ms):
        return [str(DRIVER), str(self.state), str(members), str(age_ms)]

    def _read(self):
        for line in self.child.stdout:
            self.answers.put(line)
        self.answers.put("")

    def ask(self, *order, timeout=180):
        self.child.stdin.write(json.dumps([o if isinstance(o, int) else str(o) for o in order]) + "\n")
        self.child.stdin.flush()
        try:
            line = self.answers.get(timeout=timeout)
        except queue.Empty:
            raise Fail(f"the pool's driver did not answer {order[0]} within {timeout} s") from None
        if not line:
            raise Fail(f"the pool's driver ended on {order[0]}")
        answer = json.loads(line)
        if isinstance(answer, dict) and "error" in answer:
            raise Fail(f"{order[0]}: {answer['error']}")
        return answer

    def fill(self, n, *options):
        self.ask("plan", n, *options, "x.py")
        self.ask("wait", 120)

    def job(self, program, *options, hit=True, verdict="success"):
        """One job through the pool; says whether it must have had a waiting machine."""
        answer = self.ask("job", *self.line(program, *options))
        return self.check(answer, hit, verdict)

    def line(self, program, *options):
        self.t.runs += 1
        path = self.t.write(f"program{self.t.runs}.py", program) if isinstance(program, str) else program
        limits = [word for name in ("--wall", "--cpu") if name not in options for word in (name, "60s")]
        return [*limits, *options, path]

    def check(self, answer, hit, verdict):
        doc = answer["result"]
        result = harness.Result(harness.EXIT_CODES[doc["verdict"]], json.dumps(doc), b"")
        self.t.expect(result, verdict)
        self.t.equal(answer["hit"], hit, "whether a machine waited for it")
        self.t.equal(result.machine["pooled"], hit, "machine.pooled")
        return result

    def stats(self):
        return self.ask("stats")

    def end(self):
        self.child.stdin.close()
        self.t.equal(self.child.wait(60), 0, "exit code of the pool's driver")


def nothing_left(t, pool, seconds=20):
    """Of what pool's driver, or whoever used its state directory, had on the host."""
    state = pool.state
    end = time.monotonic() + seconds
    while True:
        slots = [p.name for p in (state / "slots").iterdir() if p.name != "lock" and p.stat().st_size > 0]
        left = {"slots": slots, "groups": harness.control_groups(state), "users": [u for u in t.users_of(state) if u[0] != pool.child.pid]}
        if not any(left.values()):
            return
        if time.monotonic() > end:
            raise Fail(f"left after {seconds} s: {left}")
        time.sleep(0.1)


def children(pid):
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def monitor_of(supervisor):
    for pid in children(supervisor):
        if os.path.basename(os.readlink(f"/proc/{pid}/exe")).startswith(("qemu-system", "airlock-vmm")):
            return pid
    raise Fail(f"supervisor {supervisor} has no monitor")


@case("a waiting machine serves one job and no second one")
def single_use(t):
    pool = Pool(t, 2)
    pool.fill(2)
    first = pool.job("open('/work/left', 'w').write('x'); open('/tmp/left', 'w').write('x')\n")
    second = pool.job("import os; print(os.path.exists('/work/left'), os.path.exists('/tmp/left'))\n")
    t.equal(second.out, b"False False\n", "what the second job sees of the first")
    t.true(first.machine["id"] != second.machine["id"], "two jobs had one machine")
    t.equal(first.machine["template"], second.machine["template"], "the template")
    pool.job("print('x')\n", hit=False)
    stats = pool.stats()
    t.equal((stats["hits"], stats["misses"]), (2, 1), "hits and misses")
    pool.end()


@case("machines that have waited share no random number or id, and know what time it is")
def unique_after_a_wait(t):
    pool = Pool(t, 2)
    pool.fill(2)
    pool.ask("tick", 20000)
    seen = []
    for _ in range(2):
        before = time.time()
        lines = pool.job(UNIQUE).out.decode().split()
        after = time.time()
        t.equal(len(lines), 6, "lines of the program")
        t.true(before - 0.5 < float(lines[5]) < after + 0.5, f"the guest's clock is off: {before} {lines[5]} {after}")
        seen.append(lines[:5])
    for i, what in enumerate(["os.urandom", "uuid4", "boot_id", "machine-id", "random"]):
        t.true(seen[0][i] != seen[1][i], f"{what} is the same in two machines: {seen[0][i]}")
    pool.end()


@case("what a job asks for is in force in a machine that waited: time, memory, disk, streams, environment")
def limits_in_force(t):
    pool = Pool(t, 1)

    def one(program, *options, **want):
        pool.fill(1)
        return pool.job(program, *options, **want)

    one("while True: pass\n", "--wall", "3s", verdict="timeout")
    one("kept = []\nwhile True: kept.append(bytearray(1 << 20))\n", verdict="oom")
    one("print('x' * 5000)\n", "--stdout", "1000", verdict="output_overflow")
    full = one("""
import os
print(os.environ['COLOUR'], os.path.exists('/in/data.bin'))
try:
    with open('/work/big', 'wb') as f:
        for _ in range(64):
            f.write(os.urandom(1 << 20))
except OSError as e:
    print(e.errno)
print(sum(s.f_frsize * s.f_blocks for s in [os.statvfs('/work')]) < 33 << 20)
""", "--disk", "32M", "--inodes", "300", "--env", "COLOUR=blue", "--in", f"{t.write('data.bin', b'1')}",
               hit=False)  # a machine that waits has a disk of the default size mounted
    t.equal(full.out, b"blue True\n28\nTrue\n", "what the program sees")
    pool.fill(1, "--disk", "32M")
    other = pool.job("import os; print(sum(s.f_frsize * s.f_blocks for s in [os.statvfs('/work')]) < 33 << 20)\n",
                     "--disk", "32M")
    t.equal(other.out, b"True\n", "a disk that is not the default, and planned")
    larger = one("import os; print(sum(s.f_frsize * s.f_blocks for s in [os.statvfs('/work')]) > 150 << 20)\n",
                 "--disk", "200M", hit=False)
    t.equal(larger.out, b"True\n", "a disk larger than the plan's")
    t.equal(larger.limits["disk_bytes"], 200 << 20, "limits.disk_bytes")
    pool.end()


@case("paths, stdin and outputs of a pooled job are the caller's")
def callers_files(t):
    pool = Pool(t, 1)
    pool.fill(1)
    t.write("here.py", "import sys; open('/out/o.txt', 'w').write(sys.stdin.read() + open('/in/n').read())\n")
    t.write("words", b"from stdin ")
    t.write("input", b"from a file")
    t.path("result").mkdir()
    result = pool.job(pathlib.Path("here.py"), "--stdin", "words", "--in", "input:n", "--out", "result")
    t.equal(t.path("result/o.txt").read_bytes(), b"from stdin from a file", "the output")
    t.equal([o["name"] for o in result.outputs], ["o.txt"], "outputs")
    pool.fill(1)
    missing = pool.job(pathlib.Path("none.py"), verdict="rejected")
    t.true("none.py" in missing.doc["message"], f"the message names no file: {missing.doc['message']}")
    nothing_of_it = [c for c, ok in missing.cleanup["checks"].items() if not ok]
    t.equal(nothing_of_it, [], "checks of the cleanup that failed")
    pool.end()


@case("a job that fits no waiting machine gets one of its own")
def misfit(t):
    pool = Pool(t, 1)
    pool.fill(1)
    pool.job("print('x')\n", "--memory", "300M", hit=False)
    pool.job("print('x')\n", "--vcpus", "2", hit=False)
    pool.job("print('x')\n", "--memory", "250M")  # the same machine as with 256M
    t.equal(pool.stats()["misses"], 2, "misses")
    pool.end()


@case("a machine that dies while it waits is replaced, and its job is not lost")
def dead_member(t):
    pool = Pool(t, 2)
    pool.fill(2)
    supervisors = pool.ask("members")
    t.equal(len(supervisors), 2, "supervisors")
    os.kill(monitor_of(supervisors[0]), signal.SIGKILL)
    time.sleep(1)  # the pool does not look meanwhile
    pool.job("print('x')\n")  # by the other one
    pool.ask("tick", 500)
    t.equal(pool.stats()["died"], 1, "machines that died")
    pool.ask("wait", 120)
    supervisors = pool.ask("members")
    os.kill(supervisors[0], signal.SIGKILL)
    pool.ask("tick", 500)
    t.equal(pool.stats()["died"], 2, "machines that died")
    pool.ask("wait", 120)
    pool.job("print('x')\n")
    pool.end()
    nothing_left(t, pool)
    lost = list((pool.state / "records").glob("*.json"))
    t.equal(sum(json.loads(p.read_text())["state"] == "lost" for p in lost), 0, "records of lost jobs: none was lost")


@case("a supervisor that is killed amid a pooled job leaves a record of that job")
def killed_in_job(t):
    pool = Pool(t, 1)
    pool.fill(1)
    answer = pool.ask("begin", *pool.line("import time; time.sleep(60)\n"))
    t.equal(answer["hit"], True, "a machine waited")
    time.sleep(1)
    os.kill(pool.ask("members")[0], signal.SIGKILL)
    try:
        pool.ask("end")
        raise Fail("there is a result of a killed supervisor")
    except Fail as failure:
        t.true("died" in str(failure), str(failure))
    nothing_left(t, pool)
    states = [json.loads(p.read_text()) for p in (pool.state / "records").glob("*.json")]
    t.equal([(s["state"], s["reason"], s["written_by"]) for s in states], [("lost", "supervisor_lost", "reaper")], "records")
    t.true(states[0]["limits"] is not None, "the record knows the job")
    pool.end()


@case("a machine that is too old is replaced")
def too_old(t):
    pool = Pool(t, 1, age_ms=5000)
    pool.fill(1)
    first = pool.ask("members")
    pool.ask("tick", 7000)
    pool.ask("wait", 120)
    t.true(pool.stats()["retired"] >= 1, f"none was replaced: {pool.stats()}")
    t.true(pool.ask("members") != first, "the old one still waits")
    pool.end()


@case("the end of a pool is the end of its machines", alone=True)
def drained(t):
    mounts = harness.mounts()
    pool = Pool(t, 2)
    pool.fill(2)
    pool.ask("free")
    t.equal(pool.ask("members"), [], "supervisors")
    nothing_left(t, pool, seconds=2)
    pool.end()
    t.equal(harness.mounts(), mounts, "mounts")


@case("the owner of a pool is killed: nothing is left", alone=True)
def owner_killed(t):
    mounts = harness.mounts()
    pool = Pool(t, 2)
    pool.fill(2)
    pool.ask("begin", *pool.line("import time; time.sleep(60)\n"))
    pool.child.kill()
    pool.child.wait()
    nothing_left(t, pool)
    t.equal(harness.mounts(), mounts, "mounts")
    t.equal(harness.tree_of(pool.state, also_skip=["slots"]), harness.tree_of(harness.STATE, also_skip=["slots"]),
            "files of the state directory")


@case("waiting machines count in the ledger with what they have, and with a job as any other")
def counted(t):
    def slots(name):
        texts = [p.read_text() for p in (pool.state / "slots").iterdir() if p.name != "lock" and p.stat().st_size > 0]
        return sorted(int(line.split("=")[1]) for s in texts for line in s.split("\n") if line.startswith(name + "="))

    pool = Pool(t, 2)
    pool.fill(2, "--memory", "300M")
    t.equal((slots("memory"), slots("vcpus")), ([96 << 20] * 2, [0, 0]), "what two that wait promise")
    t.write("wait.py", "import time\nprint('on', flush=True)\ntime.sleep(3)\n")
    taker = threading.Thread(target=pool.job, args=(t.path("wait.py"), "--memory", "300M"))
    taker.start()
    end = time.monotonic() + 20
    while 1 not in slots("vcpus"):
        t.true(time.monotonic() < end, f"a member with a job promises {slots('memory')}")
        time.sleep(0.05)
    t.true((448 + 192) << 20 in slots("memory"), f"a member with a job promises {slots('memory')}")
    taker.join()
    pool.end()


@case("50 pooled jobs leave the host as it was", alone=True)  # AIRLOCK_POOL_JOBS=1000 for more
def fifty(t):
    state = t.private_state()
    warm = Pool(t, 1, state=state)  # records and templates exist afterwards
    warm.fill(1)
    warm.end()
    before = (harness.mounts(), harness.temporary_names(), harness.tree_of(state), harness.own_processes())
    pool = Pool(t, 2, state=state)
    pool.ask("plan", 2, "x.py")
    machines = set()
    for i in range(JOBS):
        pool.ask("wait", 120)
        machines.add(pool.job(f"print({i})\n").machine["id"])
    t.equal(len(machines), JOBS, "machines")
    pool.end()
    nothing_left(t, pool, seconds=5)
    after = (harness.mounts(), harness.temporary_names(), harness.tree_of(state), harness.own_processes())
    t.equal(after, before, f"the host after {JOBS} jobs")


@case("airlock suite --pool runs its cases in machines that waited, and says so")
def suite(t):
    state = t.private_state()
    cases = t.path("cases/one")
    cases.mkdir(parents=True)
    for name in ("a", "b"):
        (cases / f"{name}.py").write_text('# airlock-case: {"expect": "success", "only": "a test"}\nprint("x")\n')
        (cases / f"big-{name}.py").write_text(
            '# airlock-case: {"expect": "success", "only": "a test", "limits": {"mem_mib": 300}}\nprint("x")\n')
    done = subprocess.run([AIRLOCK, "suite", "--cases", t.path("cases"), "--pool", "2", "-j", "1", "--state", state, "--json"],
                          cwd=t.dir, env=harness.environment(), capture_output=True, timeout=300, check=False)
    t.equal(done.returncode, 0, f"exit code; {done.stderr[-800:]}")
    report = json.loads(done.stdout)
    t.equal([report["pool"][k] for k in ("machines", "hits", "misses")], [2, 4, 0], "the pool in the report")
    t.equal([c["got"]["pooled"] for c in report["cases"]], [True] * 4, "pooled")
    t.equal(harness.control_groups(state), [], "control groups")
    t.wait_gone(state, seconds=5)
