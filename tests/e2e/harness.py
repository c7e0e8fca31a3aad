"""What the end-to-end cases are written with: a registry, one context per case, one result type.

A case is a function with @case("a sentence"); it gets a Context, runs jobs through build/airlock
and raises Fail through the check methods. Everything a case writes is below its own directory.
"""
import base64
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
AIRLOCK = ROOT / "build" / "airlock"
STATE = pathlib.Path(os.environ.get("AIRLOCK_TEST_STATE", ROOT / "build" / "state")).resolve()
WORK = ROOT / "build" / "e2e"
# What jobs ask for; without it they take the best that works here.
ENGINE = os.environ.get("AIRLOCK_TEST_ENGINE")
# For a machine so slow that an interpreter is not worth waiting for: tools/nested-host.
COLD = os.environ.get("AIRLOCK_TEST_COLD") == "1"
ISOLATION = {"tcg": "emulated", "kvm": "hardware"}
QEMU = "/usr/bin/qemu-system-x86_64"

EXIT_CODES = {
    "success": 0, "user_exception": 1, "rejected": 2, "timeout": 3, "oom": 4, "output_overflow": 5,
    "output_rejected": 6, "sandbox_failure": 7, "capacity_rejected": 8, "canceled": 9,
}
NOT_STARTED = {"rejected", "capacity_rejected"}
FIELDS = ["verdict", "reason", "message", "exit_code", "signal", "stdout", "stderr", "outputs",
          "dropped", "limits", "phases", "peaks", "events", "machine", "cleanup"]

# A device that opens and is none (in a mount namespace of its own): that /dev/kvm exists proves nothing.
FALSE_KVM = ["unshare", "-m", "sh", "-c",
             "if [ -e /dev/kvm ]; then mount --bind /dev/null /dev/kvm; fi; exec \"$@\"", "sh"]

# A program that prints, a line each, what no two machines may have in common.
UNIQUE = """
import os, random, uuid
print(os.urandom(16).hex())
print(uuid.uuid4())
print(open('/proc/sys/kernel/random/boot_id').read().strip())
print(open('/etc/machine-id').read().strip())
print(random.getrandbits(64))
"""


class Fail(Exception):
    pass


class Skip(Exception):
    pass


@dataclasses.dataclass
class Case:
    name: str
    function: object
    module: str
    alone: bool  # not beside other cases: it looks at the whole host
    root: bool   # needs a mount namespace


CASES = []


def case(name, alone=False, root=False):
    def register(function):
        CASES.append(Case(name, function, function.__module__, alone, root))
        return function
    return register


def stream_bytes(stream):
    if stream["encoding"] == "base64":
        return base64.b64decode(stream["data"], validate=True)
    return stream["data"].encode("utf-8")


class Result:
    """One finished `airlock run`: exit code, raw output, and the JSON object if there is one."""

    def __init__(self, code, raw, err):
        self.code = code
        self.raw = raw
        self.err = err.decode("utf-8", "replace")
        self.doc = None
        self.out_dir = None
        try:
            self.doc = json.loads(raw)
        except ValueError:
            pass

    def __getattr__(self, name):
        if name in FIELDS and self.doc is not None:
            return self.doc[name]
        raise AttributeError(name)

    @property
    def out(self):
        return stream_bytes(self.doc["stdout"])

    @property
    def errout(self):
        return stream_bytes(self.doc["stderr"])

    @property
    def text(self):
        """All that airlock itself said to a person."""
        return (self.doc["message"] if self.doc else "") + "\n" + self.err

    def describe(self):
        if self.doc is None:
            return f"exit {self.code}, stdout {self.raw[:300]!r}, stderr {self.err[:600]!r}"
        short = {k: self.doc.get(k) for k in FIELDS[:5] + ["cleanup", "events"]}
        tail = {s: str((self.doc.get(s) or {}).get("data", ""))[-400:] for s in ("stdout", "stderr")}
        return f"exit {self.code}, {short}, {tail}, airlock's stderr {self.err[-300:]!r}"


class Context:
    """The world of one case."""

    def __init__(self, directory):
        self.dir = pathlib.Path(directory)
        self.runs = 0

    # Checks

    def equal(self, got, want, what):
        if got != want:
            raise Fail(f"{what}: {str(got)[:400]!r}, not {str(want)[:400]!r}")

    def true(self, condition, what):
        if not condition:
            raise Fail(what)

    def expect(self, result, verdict, **fields):
        """The verdict, its exit code, what holds for every result, and the fields named.

        stdout= and stderr= are the exact bytes of the program.
        """
        if result.doc is None:
            raise Fail(f"no JSON result: {result.describe()}")
        missing = [f for f in FIELDS if f not in result.doc]
        if missing:
            raise Fail(f"result lacks {missing}")
        verdicts = (verdict,) if isinstance(verdict, str) else verdict
        if result.verdict not in verdicts:
            raise Fail(f"verdict is not {verdict}: {result.describe()}")
        self.equal(result.code, EXIT_CODES[result.verdict], "exit code of airlock")
        ended = [result.exit_code is not None, result.signal is not None].count(True)
        if result.verdict in ("success", "user_exception", "output_rejected"):
            self.equal(ended, 1, "exit_code and signal that are not null")
        if result.verdict in NOT_STARTED:
            self.equal(ended, 0, "exit_code and signal of what never ran")
        else:
            self.true(result.cleanup["verified"] is True, f"cleanup is not verified: {result.cleanup}")
            engine = result.machine["engine"]
            self.true(engine in ([ENGINE] if ENGINE else ISOLATION), f"engine is {engine}")
            self.equal(result.machine["isolation"], ISOLATION[engine], "isolation")
        self.true(result.message, "the message is empty")
        for name, want in fields.items():
            got = {"stdout": lambda: result.out, "stderr": lambda: result.errout}.get(
                name, lambda name=name: result.doc[name])()
            if got != want:
                raise Fail(f"{name} is {str(got)[:300]!r}, not {str(want)[:300]!r}: {result.describe()}")

    # Running

    def path(self, name):
        return self.dir / name

    def write(self, name, data):
        path = self.dir / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8"))
        return path

    def command(self, *options, program=None, js=False, args=(), state=None, as_json=True):
        """The command line; program is source text, or a path of an existing file."""
        self.runs += 1
        line = [str(AIRLOCK), "run", "--state", str(state or STATE)]
        if as_json:
            line.append("--json")
        # The defaults are meant for bare CPUs: emulation takes 10-20 times as long.
        for name in ("--wall", "--cpu"):
            if name not in options:
                line += [name, "60s"]
        if ENGINE and "--engine" not in options and "--isolation" not in options:
            line += ["--engine", ENGINE]
        if COLD and "--cold-interpreter" not in options:
            line.append("--cold-interpreter")
        line += [str(o) for o in options]
        if isinstance(program, str):
            program = self.write(f"program{self.runs}.{'js' if js else 'py'}", program)
        if program is not None:
            line.append(str(program))
        return line + [str(a) for a in args]

    def run(self, program, *options, js=False, args=(), stdin=None, files=None, out=False,
            state=None, as_json=True, wrap=(), timeout=180, feed=None):
        """Runs one job to its end. stdin: bytes given by --stdin. files: {name: bytes} as --in.

        feed: bytes for airlock's own stdin. out: make a directory and give it as --out.
        """
        options = list(options)
        if stdin is not None:
            options += ["--stdin", self.write(f"stdin{self.runs}", stdin)]
        for name, data in (files or {}).items():
            options += ["--in", self.write(name, data)]
        out_dir = None
        if out:
            out_dir = self.dir / f"out{self.runs}"
            out_dir.mkdir()
            options += ["--out", out_dir]
        line = self.command(*options, program=program, js=js, args=args, state=state, as_json=as_json)
        result = self.execute([*wrap, *line], timeout, feed)
        result.out_dir = out_dir
        return result

    def execute(self, line, timeout=180, feed=None):
        child = self.start(line, stdin=subprocess.PIPE if feed is not None else subprocess.DEVNULL)
        try:
            raw, err = child.communicate(feed, timeout)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGINT)  # lets it clean up; then for good
            try:
                raw, err = child.communicate(None, 10)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                raw, err = child.communicate()
            raise Fail(f"airlock did not end within {timeout} s; stderr {err[-400:]!r}") from None
        return Result(child.returncode, raw, err)

    def start(self, line, **streams):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, **streams}
        return subprocess.Popen([str(part) for part in line], cwd=self.dir, env=environment(),
                                start_new_session=True, **streams)

    def start_and_wait(self, program, *options, state=None, js=False):
        """Starts a job without --json whose program prints `ready`; returns once that was read."""
        child = self.start(self.command(*options, program=program, js=js, state=state,
                                        as_json=False))
        killer = threading.Timer(90, child.kill)
        killer.start()
        line = child.stdout.readline()
        killer.cancel()
        if line != b"ready\n":
            child.kill()
            raise Fail(f"the program did not start: {line!r} {child.stderr.read()[-400:]!r}")
        return child

    # The host

    def private_state(self):
        """A copy of the prepared state directory by hard links, so that its users can be told."""
        copy = self.dir / "state"
        same = os.stat(STATE).st_dev == os.stat(self.dir).st_dev
        for tries_left in (2, 1, 0):  # files of the jobs beside this one come and go
            done = subprocess.run(["cp", "-al" if same else "-a", str(STATE), str(copy)], check=tries_left == 0)
            if done.returncode == 0:
                break
            shutil.rmtree(copy)
        for other in ("slots", "records"):  # other jobs', with their locks
            shutil.rmtree(copy / other, ignore_errors=True)
        for lock in ("lock", "templates/lock"):  # the same file, it would be the same lock
            if (copy / lock).exists():
                (copy / lock).unlink()
                (copy / lock).touch(mode=0o600)
        return copy

    def users_of(self, directory):
        """(pid, command) of every process that holds a file below directory or runs from it."""
        found = []
        mark = str(directory)
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                links = [os.readlink(f"/proc/{entry}/fd/{fd}") for fd in os.listdir(f"/proc/{entry}/fd")]
                line = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes()
            except OSError:
                continue
            if any(link.startswith(mark) for link in links) or mark.encode() in line:
                found.append((int(entry), line.replace(b"\0", b" ")[:80].decode("utf-8", "replace")))
        return found

    def wait_gone(self, directory, seconds=2.0):
        end = time.monotonic() + seconds
        while True:
            left = self.users_of(directory)
            if not left:
                return
            if time.monotonic() > end:
                raise Fail(f"still running after {seconds} s: {left}")
            time.sleep(0.05)


def environment():
    keep = ("PATH", "HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "ASAN_OPTIONS", "UBSAN_OPTIONS")
    return {k: os.environ[k] for k in keep if k in os.environ} | {"LC_ALL": "C.UTF-8", "TERM": "dumb"}


def tree_of(directory, also_skip=()):
    """Names and sizes below directory, for comparing before and after. Records, saved states and memos are
    meant to stay."""
    skip = {"records", "templates", "memo", *also_skip}
    return sorted((str(p.relative_to(directory)), p.lstat().st_size if p.is_file() else -1)
                  for p in pathlib.Path(directory).rglob("*") if p.relative_to(directory).parts[0] not in skip)


def temporary_names():
    return sorted(n for d in ("/tmp", "/var/tmp", "/dev/shm", "/run") if os.path.isdir(d)
                  for n in os.listdir(d) if "airlock" in n.lower())


def tag_of_state(state):
    """What the names of its machines' control groups end with: made of device and inode of
    STATE/slots (src/sup/ledger.h)."""
    def mix(v):
        v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9 % 2**64
        v = (v ^ v >> 27) * 0x94d049bb133111eb % 2**64
        return v ^ v >> 31

    at = os.stat(pathlib.Path(state) / "slots")
    return f"{mix((mix(at.st_dev) + at.st_ino) % 2**64):016x}"


def control_groups(state):
    """Machines' control groups of this state directory, in every hierarchy."""
    tag = tag_of_state(state)
    while True:
        try:
            return sorted(str(p) for p in pathlib.Path("/sys/fs/cgroup").glob(f"**/airlock/*.{tag}"))
        except FileNotFoundError:  # a directory went away while it was being listed
            continue


def own_processes():
    """Processes that run this very binary: command lines, supervisors and reapers."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.readlink(f"/proc/{entry}/exe") == str(AIRLOCK):
                name = pathlib.Path(f"/proc/{entry}/comm").read_text(encoding="utf-8").strip()
                found.append((int(entry), name))
        except OSError:
            continue
    return sorted(found)


def mounts():
    return pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").count("\n")


def fresh_directory(path):
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path
