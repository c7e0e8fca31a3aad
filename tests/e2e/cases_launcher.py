"""airlockd's privileged half: whose the outputs are, and what becomes of jobs when a half dies."""
import json
import os
import pathlib
import pwd
import shutil
import signal
import tempfile
import time

import cases_pool
import harness
from harness import Fail, case

DRIVER = harness.ROOT / "build" / "tests" / "e2e" / "launcher-driver"
CAPACITY, RECORD = 2, 3
USER = "nobody"

WRITES = """
import os, sys
os.makedirs("/out/a/b")
open("/out/a/b/one.txt", "w").write("1")
open("/out/two.bin", "wb").write(b"\\0" * 5000)
print("done")
"""


def spec(program, **more):
    return json.dumps({"language": "python", "code": program,
                       "limits": {"wall_ms": 60000, "cpu_ms": 60000}, **more})


class Front(cases_pool.Pool):
    """The driver of tests/e2e/launcher-driver.c; as root it becomes nobody once the launcher is there."""

    def __init__(self, t, pool=0):
        self.user = [USER] if os.getuid() == 0 else []
        super().__init__(t, pool)

    def command(self, members, age_ms):
        return [str(DRIVER), str(self.state), str(members), *self.user]

    def uid(self):
        return pwd.getpwnam(USER).pw_uid if self.user else os.getuid()

    def directory(self, t):
        path = pathlib.Path(tempfile.mkdtemp(prefix="airlock-launcher-"))
        os.chown(path, self.uid(), pwd.getpwuid(self.uid()).pw_gid)
        return path

    def launcher(self):
        mine = cases_pool.children(self.child.pid)
        self.t.equal(len(mine), 1, "children of the front half")
        return mine[0]


def check_owned(t, top, uid):
    for directory, names, files in os.walk(top):
        for name in names + files:
            t.equal(os.lstat(os.path.join(directory, name)).st_uid, uid, f"owner of {name}")


def one_job(t, front, pooled):
    place = front.directory(t)
    try:
        t.equal(front.ask("start", spec(WRITES), place), {"pooled": pooled}, "answer")
        got = front.ask("finish")
        t.equal(got["result"]["verdict"], "success", str(got["result"].get("message")))
        t.equal(got["stdout"], "done\n", "stdout")
        t.equal(got["machine"], got["result"]["machine"]["id"], "machine that was told at once")
        t.equal(got["result"]["machine"]["pooled"], pooled, "machine.pooled")
        t.equal((place / "out" / "a" / "b" / "one.txt").read_text(), "1", "output")
        t.equal((place / "out" / "two.bin").stat().st_size, 5000, "output's size")
        t.equal(sorted(p.name for p in place.iterdir()), ["out"], "what is in the directory")
        t.equal(sorted(p.name for p in (place / "out").iterdir()), ["a", "two.bin"], "outputs")
        check_owned(t, place, front.uid())
        t.equal(got["result"]["cleanup"]["verified"], True, str(got["result"]["cleanup"]))
        t.equal(front.ask("text", RECORD, got["machine"])["id"], got["machine"], "record")
    finally:
        shutil.rmtree(place)


@case("outputs are the front half's own, from a new machine and from one that waited")
def owned_outputs(t):
    front = Front(t, 1)
    one_job(t, front, False)
    front.ask("plan", 1, spec("pass"))
    end = time.monotonic() + 120
    while front.ask("text", CAPACITY, "")["pool"]["waiting"] < 1:
        t.true(time.monotonic() < end, "no machine waits within 120 s")
        time.sleep(0.2)
    capacity = front.ask("text", CAPACITY, "")
    t.equal(capacity["machines_used"], 0, "machines in use: one that waits is none of them")
    t.true(capacity["memory_used_bytes"] > 0, "no memory is promised")
    one_job(t, front, True)
    front.end()
    cases_pool.nothing_left(t, front)


@case("a link in the place of outputs leads no further than its owner could go", root=True)
def link_in_the_way(t):
    front = Front(t)
    place = front.directory(t)
    secret = pathlib.Path(tempfile.mkdtemp(prefix="airlock-launcher-root-"))
    try:
        (place / "out").symlink_to(secret)
        front.ask("start", spec(WRITES), place)
        got = front.ask("finish")
        t.equal(got["result"]["verdict"], "sandbox_failure", str(got["result"].get("message")))
        t.equal(got["result"]["reason"], "export", "reason")
        t.equal(list(secret.iterdir()), [], "what root wrote through the link")
        (place / "out").unlink()
        one_job(t, front, False)
    finally:
        shutil.rmtree(place)
        secret.rmdir()
    front.end()


@case("killing the front half ends its jobs, and the launcher")
def front_killed(t):
    front = Front(t, 1)
    front.ask("start", spec("import time\nprint('x', flush=True)\ntime.sleep(50)"), "")
    front.ask("until", "run")
    launcher = front.launcher()
    front.child.kill()
    front.child.wait(10)
    cases_pool.nothing_left(t, front)
    end = time.monotonic() + 20
    while pathlib.Path(f"/proc/{launcher}").exists():
        t.true(time.monotonic() < end, "the launcher still runs")
        time.sleep(0.1)
    records = [json.loads(p.read_text()) for p in (front.state / "records").glob("*.json")]
    t.true(any(r["verdict"] == "canceled" for r in records), "no record says canceled")


@case("killing the launcher ends no job, and the front half is told")
def launcher_killed(t):
    front = Front(t)
    front.ask("start", spec("import time\ntime.sleep(2)\nprint('done')"), "")
    front.ask("until", "run")
    os.kill(front.launcher(), signal.SIGKILL)
    t.equal(front.ask("finish")["result"]["verdict"], "success", "verdict")
    try:
        front.ask("text", CAPACITY, "")
    except Fail as why:
        t.true("signal 9" in str(why), str(why))
    else:
        raise Fail("a dead launcher answered")
    front.child.stdin.close()
    front.child.wait(60)
    cases_pool.nothing_left(t, front)


@case("a job is canceled through the socket that the launcher gave away")
def canceled(t):
    front = Front(t)
    front.ask("start", spec("import time\ntime.sleep(50)"), "")
    front.ask("until", "run")
    front.ask("cancel")
    t.equal(front.ask("finish")["result"]["verdict"], "canceled", "verdict")
    front.end()
    cases_pool.nothing_left(t, front)
