"""Machines from saved state: one boot for many jobs, and none of them can tell or change that."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import harness
from harness import AIRLOCK, Fail, case

HELLO = "print('hello')\n"

UNIQUE = harness.UNIQUE + """
import tempfile
print(next(tempfile._get_candidate_names()))
print(hash('airlock'))
print(next(line for line in open('/proc/self/maps') if '[stack]' in line).split('-')[0])
"""


def templates(state):
    found = [p for p in pathlib.Path(state, "templates").iterdir() if p.name != "lock"]
    return sorted(found)


def empty(t):
    """A state directory without templates."""
    state = t.private_state()
    shutil.rmtree(state / "templates", ignore_errors=True)
    return state


def run(t, state, *options, program=HELLO):
    result = t.run(program, *options, state=state)
    t.expect(result, "success")
    return result


def replace(path, change):
    """In place of the file, never in it: hard links of it may be other tests'."""
    data = bytearray(path.read_bytes())
    before = path.stat()
    change(data)
    path.unlink()
    path.write_bytes(data)
    path.chmod(before.st_mode & 0o7777)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # or that alone would tell


@case("the first job of a kind builds the saved state, the next starts from it")
def reused(t):
    state = empty(t)
    first, second = run(t, state), run(t, state)
    t.equal((first.machine["template_built"], second.machine["template_built"]), (True, False), "built")
    t.equal(first.machine["template"], second.machine["template"], "the key")
    t.equal([p.name for p in templates(state)], [first.machine["template"]], "the files")
    t.equal(templates(state)[0].stat().st_mode & 0o7777, 0o444, "the file's mode")
    t.true(second.phases["ready_ns"] > second.phases["spawned_ns"] > second.phases["template_ns"], "phases")


@case("another machine is another template")
def other_size(t):
    state = empty(t)
    keys = [run(t, state, *options).machine["template"]
            for options in ([], ["--memory", "300M"], ["--vcpus", "2"], ["--memory", "250M"])]
    t.equal(len(set(keys[:3])), 3, "keys of three sizes")
    t.equal(keys[3], keys[0], "the key of the same machine size")


@case("jobs that start together build one template")
def together(t):
    state = empty(t)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda _: run(t, state), range(2)))
    t.equal(sorted(r.machine["template_built"] for r in results), [False, True], "built")
    t.equal(len(templates(state)), 1, "templates")


def damaged(name, change):
    @case(f"a template that {name} is built again, not used")
    def test(t):
        state = t.private_state()
        key = run(t, state).machine["template"]
        path = state / "templates" / key
        change(path)
        result = run(t, state)
        t.equal((result.machine["template_built"], result.machine["template"]), (True, key), "built")
        t.equal(run(t, state).machine["template_built"], False, "built once more")


def flip_state(data):
    data[len(data) - 4096 - 1000] ^= 1


def copy_of(path):
    """A file of its own with the same bytes."""
    replace(path, lambda data: None)
    return path


damaged("has a changed state", lambda path: replace(path, flip_state))
damaged("was cut short", lambda path: os.truncate(copy_of(path), 1 << 20))
damaged("was written to", lambda path: os.utime(copy_of(path)))
damaged("can be written by its owner", lambda path: copy_of(path).chmod(0o644))
damaged("was made in another boot of the host", lambda path: replace(path, other_boot))


def other_boot(data):
    at = data.rindex(b'"boot_id":"') + len(b'"boot_id":"')
    data[at:at + 8] = b"00000000"


@case("two machines from one template share no random number, id or address")
def unique(t):
    # Hash seed and addresses are an interpreter's own: docs/warm.md.
    results = [run(t, None, "--cold-interpreter", program=UNIQUE) for _ in range(3)]
    t.equal(len({r.machine["template"] for r in results}), 1, "templates")
    for values in zip(*(r.out.decode().splitlines() for r in results)):
        t.equal(len(set(values)), len(values), f"different values among {values}")


@case("the clock of a machine from saved state is the host's")
def clock(t):
    result = run(t, None, program="import time\nprint(time.time())\n")
    now = pathlib.Path(t.dir).stat().st_mtime  # made when this case began
    seen = float(result.out)
    t.true(now - 1 < seen < now + 300, f"the guest's clock said {seen} at {now}")


@case("a job that overwrites its memory changes nothing of the template")
def not_written(t):
    state = t.private_state()
    path = state / "templates" / run(t, state).machine["template"]
    before = hashlib.sha256(path.read_bytes()).digest()
    result = t.run("x = bytearray(1)\nwhile True: x += bytes([65]) * (1 << 20)\n", state=state)
    t.expect(result, "oom")
    if hashlib.sha256(path.read_bytes()).digest() != before:
        raise Fail("the template's bytes changed")


def tool(t, state, *args, code=0):
    """What `airlock template` printed, and what it said on stderr."""
    done = subprocess.run([str(AIRLOCK), "template", *args, "--state", str(state)], check=False,
                          capture_output=True, text=True, timeout=180, stdin=subprocess.DEVNULL)
    t.equal(done.returncode, code, f"exit code of template {' '.join(args)} ({done.stdout}{done.stderr})")
    return done.stdout, done.stderr


def listed(t, state):
    return json.loads(tool(t, state, "list", "--json")[0])["templates"]


@case("a template that was built beforehand is the one that a job of its kind starts from")
def beforehand(t):
    state = empty(t)
    t.equal(tool(t, state, "list")[0], "no templates\n", "the list of none")
    out, err = tool(t, state, "build", "python", "--memory", "300M", "--json")
    built = json.loads(out)
    t.equal((built["built"], built["image"], built["engine"]), (True, "python", "tcg"), "what was built")
    for step in ("booting", "saving", "digest"):
        t.true(step in err, f"no word of '{step}' in {err!r}")
    again, err = tool(t, state, "build", "python", "--memory", "300M")
    t.equal((again.split(maxsplit=1), err), ([built["key"], "was there already\n"], ""), "the second time")
    machine = run(t, state, "--memory", "300M").machine
    t.equal((machine["template"], machine["template_built"]), (built["key"], False), "the job's")
    [item] = listed(t, state)
    t.equal((item["key"], item["state"], item["image"], item["image_sha256"], item["vcpus"]),
            (built["key"], "good", "python", machine["image_digest"].removeprefix("sha256:"), 1), "the listed one")
    t.equal((built["warm"], item["warm"]), (True, True), "an interpreter waits")
    t.equal(item["memory_bytes"], machine["memory_bytes"], "memory")
    t.true(0 < item["disk_bytes"] < item["memory_bytes"], f"{item['disk_bytes']} bytes on disk")
    t.equal([p.name for p in (state / "slots").iterdir()], ["lock"], "slots")


@case("a template's machine that is not ready in time is given up, and the message says what to do")
def patience(t):
    state = empty(t)
    for wrong in ("0", "2h", "soon"):
        t.true("--patience" in tool(t, state, "build", "python", "--patience", wrong, code=2)[1], f"{wrong}: no word of it")
    said = tool(t, state, "build", "python", "--cold-interpreter", "--patience", "1s", code=1)[1]
    t.true("not ready to be saved in 1 s" in said and "template build --patience" in said, said)
    t.equal((templates(state), [p.name for p in (state / "slots").iterdir()]), ([], ["lock"]), "what is left")


@case("a changed byte of a template's memory is found by verify, told and removed")
def verified(t):
    state = empty(t)
    key = json.loads(tool(t, state, "build", "python", "--json")[0])["key"]
    path = state / "templates" / key
    t.equal(tool(t, state, "verify", key[:10])[0], f"{key[:12]}  ok\n", "a good one")
    replace(path, lambda data: data.__setitem__(5 << 20, data[5 << 20] ^ 1))
    said = tool(t, state, "verify", code=1)[0]
    t.true(said.startswith(f"{key[:12]}  damaged: its memory has another digest"), said)
    t.equal([p.name for p in templates(state)], [key], "templates before --rm")
    [item] = json.loads(tool(t, state, "verify", "--rm", "--json", code=1)[0])["templates"]
    t.equal((item["key"], item["state"], item["removed"]), (key, "damaged", True), "told")
    t.equal(templates(state), [], "templates after --rm")
    t.equal(run(t, state).machine["template_built"], True, "built by the next job")


@case("templates are removed by the beginning of their key, or all")
def removed(t):
    state = empty(t)
    keys = [json.loads(tool(t, state, "build", "python", "--json", *more)[0])["key"]
            for more in ((), ("--memory", "300M"))]
    tool(t, state, "rm", code=2)
    tool(t, state, "rm", "--all", keys[0], code=2)
    tool(t, state, "rm", "../lock", code=2)
    tool(t, state, "rm", keys[0][:16])
    t.equal([p.name for p in templates(state)], [keys[1]], "what is left")
    t.true("no template begins with" in tool(t, state, "rm", keys[0][:16], code=2)[1], "the second time")
    tool(t, state, "rm", "--all")
    t.equal(templates(state), [], "after --all")


@case("Ctrl-C while a template is built leaves neither a file nor a slot nor a machine")
def build_stopped(t):
    state = empty(t)
    line = [str(AIRLOCK), "template", "build", "python", "--state", str(state)]
    with subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as child:
        t.true(b"booting" in child.stderr.readline(), "no word of the boot")
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    t.equal((child.returncode, out), (1, b""), "exit code and output")
    t.true(b"stopped" in err, err)
    t.wait_gone(t.dir)
    t.equal(templates(state), [], "templates")
    t.equal([p.name for p in (state / "slots").iterdir()], ["lock"], "slots")


@case("the job that builds a template says so, unless it is to be quiet")
def told(t):
    for quiet in (True, False):
        state = empty(t)
        result = t.run(HELLO, *(["--quiet"] if quiet else []), state=state, as_json=False)
        t.equal((result.code, result.raw), (0, b"hello\n"), "the job")
        t.equal("preparing a template for image 'python'" in result.err, not quiet, f"told in {result.err!r}")
        shutil.rmtree(state)
