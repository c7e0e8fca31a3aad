#!/usr/bin/python3
"""Many jobs in a row, every third hostile: each verdict is right and the host is as it was before.

tests/e2e/soak.py [N] [-j JOBS] [--pool M]     N jobs (200), JOBS at once (2). TAP on stdout.

With --pool each of those JOBS has a pool of M machines, which its jobs use where they fit; those with a hostile
guest run as always.

One long-lived parent starts them all, as a service would. Before and after, this is compared: processes,
mounts, control groups, the files of the state directories and of the places for temporary files, System V
objects, the parent's own descriptors and children, the users of slots.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import harness  # noqa: E402
from cases_pool import Pool  # noqa: E402
from evil import evil_state  # noqa: E402
from run import prepare  # noqa: E402

MACHINE_UIDS = range(0x78000000, 0x7ffe0000)  # src/sup/ledger.h
TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm", "/run")


class Kind:
    """program: source text; guest: the hostile guest's mode, then the program is of no account.

    verdict: one, or those that are right. reason: None where it may be any.
    """

    def __init__(self, name, verdict, reason=None, program="", guest=None, options=(), stdin=None,
                 exports=(), stdout=None):
        self.name = name
        self.verdict = verdict
        self.reason = reason
        self.program = program
        self.guest = guest
        self.options = options
        self.stdin = stdin
        self.exports = list(exports)
        self.stdout = stdout


GOOD = [
    Kind("prints", "success", program="print(6 * 7)\n", stdout=b"42\n"),
    Kind("copies stdin to an output", "success", stdin=b"some bytes" * 1000, exports=["copy"],
         program="import sys\nopen('/out/copy', 'wb').write(sys.stdin.buffer.read())\n"),
    Kind("exits with 3", "user_exception", "exit_code", program="raise SystemExit(3)\n"),
    Kind("leaves a daemon and dropped outputs", "success", exports=["kept"],
         program="import os\nif os.fork() == 0:\n    os.setsid()\n    import time\n    time.sleep(600)\n"
                 "os.symlink('/etc/passwd', '/out/link')\nopen('/out/kept', 'w').close()\n"),
]
FORKS = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n"
HOSTILE = [
    Kind("fork bomb", ("timeout", "user_exception"), program=FORKS, options=("--wall", "5s")),
    Kind("guest panics", "sandbox_failure", "run", guest="panic"),
    Kind("memory flood", "oom", "guest", options=("--memory", "96M"),
         program="keep = []\nwhile True:\n    keep.append(b'm' * (4 << 20))\n"),
    Kind("guest stops all processors", "timeout", "wall", guest="halt", options=("--wall", "1s")),
    Kind("stdout flood", "output_overflow", "stdout", options=("--stdout", "64K"),
         program="while True:\n    print('f' * 1000)\n"),
    Kind("guest lies about outputs", "sandbox_failure", "inspect", guest="dotdot"),
    Kind("disk flood", "user_exception", "exit_code", options=("--disk", "8M"),
         program="f = open('/work/fill', 'wb')\nwhile True:\n    f.write(b'd' * 65536)\n"),
    Kind("guest talks nonsense", "sandbox_failure", "run", guest="garbage"),
    Kind("spinning children", "timeout", "cpu", options=("--cpu", "2s", "--wall", "60s"),
         program="import os\nos.fork()\nos.fork()\nwhile True:\n    pass\n"),
    Kind("guest floods its console", "timeout", "wall", guest="flood-console", options=("--wall", "1s")),
    Kind("output flood", "output_overflow", "output_files", program="for n in range(100):\n"
         "    open(f'/out/{n}', 'w').close()\n"),
    Kind("guest resets", "sandbox_failure", "run", guest="reset"),
    Kind("stops itself", "timeout", "wall", options=("--wall", "5s"),
         program="import os, signal\nos.kill(0, signal.SIGSTOP)\n"),
    Kind("guest floods stdout", "output_overflow", "stdout", guest="flood-stdout"),
]


def kind_of(number):
    if number % 3 == 2:
        return HOSTILE[number // 3 % len(HOSTILE)]
    return GOOD[number % len(GOOD)]


# The host, before and after

def tag_of(pid):
    """Tag of the state directory whose machine the process is (its control group), or None."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines():
        head, _, name = line.rpartition("/")
        if head.endswith("/airlock") and "." in name:
            return name.rpartition(".")[2]
    return None


def processes(directory, tags):
    """Ours: this airlock's, those with a hand in the directory, machines but for other directories'."""
    found = {(pid, f"runs airlock: {name}") for pid, name in harness.own_processes()}
    found |= {(pid, line) for pid, line in harness.Context(directory).users_of(directory)}
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.stat(f"/proc/{entry}").st_uid in MACHINE_UIDS:
                tag = tag_of(entry)
                if tag is None or tag in tags:
                    found.add((int(entry), "has the uid of a machine"))
        except OSError:
            continue
    return sorted(found)


def children():
    found = []
    for task in os.listdir("/proc/self/task"):
        found += pathlib.Path(f"/proc/self/task/{task}/children").read_text(encoding="ascii").split()
    return found


def descriptors():
    found = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            found.append((fd, os.readlink(f"/proc/self/fd/{fd}")))
        except OSError:
            continue  # the one this listing is read through
    return sorted(found)


def temporary_files():
    """Whatever is new and could be ours by its name or by its owner; others use these places too."""
    found = []
    for directory in filter(os.path.isdir, TEMPORARY):
        for item in os.scandir(directory):
            try:
                ours = item.stat(follow_symlinks=False).st_uid in MACHINE_UIDS
            except OSError:
                continue
            if ours or any(w in item.name.lower() for w in ("airlock", "qemu", "mke2fs", "virtio")):
                found.append(item.path)
    return sorted(found)


def system_v():
    """Objects whose owner or creator has the uid of a machine, of each type."""
    found = []
    for name in ("shm", "sem", "msg"):
        path = pathlib.Path("/proc/sysvipc", name)
        lines = path.read_text(encoding="ascii").splitlines()[1:] if path.exists() else []
        found += [f"{name} {line}" for line in lines
                  if any(w.isdigit() and int(w) in MACHINE_UIDS for w in line.split())]
    return found


def snapshot(directory, states):
    groups = [g for s in states for g in harness.control_groups(s)]
    files = [f"{s / name}, {size} bytes" for s in states for name, size in harness.tree_of(s)]
    slots = [str(s / "slots" / name) for s in states for name, _ in harness.tree_of(s / "slots")]
    return {
        "processes": processes(directory, [harness.tag_of_state(s) for s in states]),
        "children of the parent": children(),
        "descriptors of the parent": descriptors(),
        "mounts": pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines(),
        "control groups": groups,
        "files of the state directories": files,
        "users of slots": slots,
        "temporary files": temporary_files(),
        "System V objects": system_v(),
        "files of the jobs": harness.tree_of(directory / "jobs"),
    }


# The jobs

class PooledContext(harness.Context):
    """Jobs go to a pool in place of a process."""

    def __init__(self, directory, pool):
        super().__init__(directory)
        self.pool = pool

    def execute(self, line, timeout=180, feed=None):
        self.pool.ask("wait", 120)
        doc = self.pool.ask("job", *line[2:], timeout=timeout)["result"]
        return harness.Result(harness.EXIT_CODES[doc["verdict"]], json.dumps(doc), b"")


class Soak:
    def __init__(self, directory, members=0):
        self.members = members  # of each pool; 0: no pools
        self.pools = threading.local()
        self.all_pools = []
        self.directory = directory
        self.lock = threading.Lock()
        self.wrong = collections.defaultdict(list)  # kind -> what was wrong
        self.count = collections.Counter()
        good = harness.Context(directory)
        self.good = good.private_state()
        hostile = harness.Context(directory / "hostile")
        hostile.dir.mkdir()
        self.hostile = evil_state(hostile)
        (directory / "jobs").mkdir()

    def own_pool(self):
        """That of the calling thread."""
        if not hasattr(self.pools, "mine"):
            self.pools.mine = Pool(harness.Context(self.directory), self.members, state=self.good)
            self.pools.mine.ask("plan", self.members, "x.py")
            with self.lock:
                self.all_pools.append(self.pools.mine)
        return self.pools.mine

    def end_pools(self):
        hits = 0
        for pool in self.all_pools:
            hits += pool.stats()["hits"]
            pool.end()
        self.all_pools.clear()
        return hits

    def job(self, number, pooled=True):
        kind = kind_of(number)
        directory = harness.fresh_directory(self.directory / "jobs" / f"{number:05}")
        context = harness.Context(directory)
        try:
            if self.members > 0 and pooled and kind.guest is None:
                context = PooledContext(directory, self.own_pool())
            self.check(context, kind)
            problem = None
        except harness.Fail as reason:
            problem = str(reason)
        except Exception as reason:  # one broken job is told, the others go on
            problem = f"{type(reason).__name__}: {reason}"
        shutil.rmtree(context.dir)
        with self.lock:
            self.count[kind.name] += 1
            if problem is not None:
                self.wrong[kind.name].append(f"job {number}: {problem}")
            done = sum(self.count.values())
        if done % 20 == 0:
            print(f"   soak: {done} jobs, {sum(map(len, self.wrong.values()))} wrong", file=sys.stderr,
                  flush=True)

    def check(self, t, kind):
        state = self.good if kind.guest is None else self.hostile
        result = t.run(kind.program or "pass\n", *kind.options, state=state, stdin=kind.stdin, out=True,
                       args=[kind.guest] if kind.guest else [])
        t.expect(result, kind.verdict, **({"reason": kind.reason} if kind.reason else {}))
        t.equal(sorted(p.name for p in result.out_dir.iterdir()), kind.exports, "exported")
        if kind.stdin is not None:
            t.equal((result.out_dir / "copy").read_bytes(), kind.stdin, "what it copied")
        if kind.stdout is not None:
            t.equal(result.out, kind.stdout, "stdout")


def report(number, name, problems):
    print(f"{'not ok' if problems else 'ok'} {number} - soak: {name}")
    for problem in problems[:10]:
        print("# " + problem[:1000].replace("\n", " "))
    for problem in problems[:3]:
        print(f"   soak: {name}: {problem[:300]}", file=sys.stderr)
    return bool(problems)


def changes(before, after):
    if before == after:
        return []
    if isinstance(before, list) and isinstance(after, list):
        return ([f"new: {x}" for x in after if x not in before] +
                [f"gone: {x}" for x in before if x not in after]) or [f"{before}, then {after}"]
    return [f"{before}, then {after}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("jobs", nargs="?", type=int, default=200)
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("--pool", type=int, default=0)
    options = parser.parse_args()
    if not harness.AIRLOCK.exists():
        sys.exit(f"{harness.AIRLOCK} is missing: run `make build` first")

    prepare()
    directory = harness.fresh_directory(harness.ROOT / "build" / "soak")
    soak = Soak(directory, options.pool)
    states = [soak.good, soak.hostile]
    # What the first job of a state directory makes, and stays, is not what is compared.
    for number in (0, 5):
        soak.job(number, pooled=False)
    soak.count.clear()
    before = snapshot(directory, states)
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(max(1, options.j)) as pool:
        for done in [pool.submit(soak.job, n) for n in range(options.jobs)]:
            done.result()
    took = time.monotonic() - begun
    hits = soak.end_pools()
    end = time.monotonic() + 2  # the same grace as for every other end of a job
    after = snapshot(directory, states)
    while after != before and time.monotonic() < end:
        time.sleep(0.1)
        after = snapshot(directory, states)

    ran = [k for k in GOOD + HOSTILE if soak.count[k.name] > 0]
    print(f"1..{len(ran) + len(before)}")
    failed = 0
    for number, kind in enumerate(ran, 1):
        failed += report(number, f"{soak.count[kind.name]} times '{kind.name}' gave its verdict",
                         soak.wrong[kind.name])
    for number, what in enumerate(before, len(ran) + 1):
        failed += report(number, f"{what}: the same before and after {options.jobs} jobs",
                         changes(before[what], after[what]))
    print(f"   soak: {options.jobs} jobs in {took:.0f} s" +
          (f", {hits} of them in machines that had waited" if options.pool > 0 else ""), file=sys.stderr)
    if options.pool > 0 and hits == 0:
        failed += 1
        print("# no job had a machine that waited: the pools were of no use")
    if not failed:
        shutil.rmtree(directory)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
