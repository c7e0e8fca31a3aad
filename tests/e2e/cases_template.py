"""Machines from saved state: one boot for many jobs, and none of them can tell or change that."""
import concurrent.futures
import hashlib
import os
import pathlib
import shutil

from harness import Fail, case

HELLO = "print('hello')\n"

UNIQUE = """
import os, random, tempfile, uuid
print(os.urandom(16).hex())
print(uuid.uuid4())
print(open('/proc/sys/kernel/random/boot_id').read().strip())
print(open('/etc/machine-id').read().strip())
print(random.getrandbits(64))
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
    mode = path.stat().st_mode
    change(data)
    path.unlink()
    path.write_bytes(data)
    path.chmod(mode & 0o7777)


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
damaged("can be written by its owner", lambda path: copy_of(path).chmod(0o644))
damaged("was made in another boot of the host", lambda path: replace(path, other_boot))


def other_boot(data):
    at = data.rindex(b'"boot_id":"') + len(b'"boot_id":"')
    data[at:at + 8] = b"00000000"


@case("two machines from one template share no random number, id or address")
def unique(t):
    results = [run(t, None, program=UNIQUE) for _ in range(3)]
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
