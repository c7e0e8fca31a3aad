"""Machines that start from one saved state: at its first instruction each program is somebody else's.

What CPython's hash seed and the address layout share among waiting interpreters is in docs/warm.md; a
fresh interpreter (--cold-interpreter) shares nothing.
"""
import concurrent.futures
import hashlib
import json
import os
import time

from harness import STATE, case

CLONES_PYTHON = 50
CLONES_NODE = 10
CLOCK_SLACK_S = 0.1
FIRST_RANDOM_S = {False: 0.5, True: 5.0}  # in Node.js the load of its crypto is in it; what blocks never ends

PYTHON = """
import os, time
began = time.monotonic()
first = os.getrandom(16, os.GRND_NONBLOCK)
took = time.monotonic() - began
now = time.time()
import json, random, secrets, ssl, tempfile, uuid, multiprocessing, hashlib, socket
def text(path):
    with open(path) as file:
        return file.read().strip()
differ = {
    'random': repr(random.random()), 'getrandbits': str(random.getrandbits(64)),
    'a generator of its own': repr(random.Random().random()), 'shuffle': str(random.sample(range(10**9), 4)),
    'getrandom': first.hex(), 'urandom': os.urandom(16).hex(), 'secrets': secrets.token_hex(16),
    'GRND_RANDOM': os.getrandom(16, os.GRND_RANDOM).hex(),
    '/dev/random': open('/dev/random', 'rb').read(16).hex(), '/dev/urandom': open('/dev/urandom', 'rb').read(16).hex(),
    'uuid4': str(uuid.uuid4()), 'uuid1': str(uuid.uuid1()), 'ssl': ssl.RAND_bytes(16).hex(),
    'a temporary name': next(tempfile._get_candidate_names()), 'mktemp': tempfile.mktemp(),
    'authkey': multiprocessing.current_process().authkey.hex(),
    'boot_id': text('/proc/sys/kernel/random/boot_id'), 'machine-id': text('/etc/machine-id'),
    'uuid of the kernel': text('/proc/sys/kernel/random/uuid'),
    'AT_RANDOM of a child': os.popen('cat /proc/self/auxv').buffer.read().hex(),
    'a child of fork': None,
}
r, w = os.pipe()
if os.fork() == 0:
    os.write(w, repr((random.random(), os.urandom(8), ssl.RAND_bytes(8))).encode())
    os._exit(0)
os.wait()
differ['a child of fork'] = os.read(r, 1000).decode()
steps = [time.monotonic() for _ in range(2000)]
same = {'pid': os.getpid(), 'parent': os.getppid(), 'hostname': socket.gethostname(), 'uid': os.getuid(),
        'processes': sorted(n for n in os.listdir('/proc') if n.isdigit()), 'in /tmp': os.listdir('/tmp'),
        'in /dev/shm': os.listdir('/dev/shm'), 'in /work': sorted(os.listdir('/work'))}
print(json.dumps({'differ': differ, 'same': same, 'took': took, 'now': now, 'began': began,
                  'forward': steps == sorted(steps) and steps[0] >= began,
                  'boottime': time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic(),
                  'file': os.stat('/work/main.py').st_mtime, 'hash': hash('airlock')}))
"""

NODE = """
const began = process.hrtime.bigint();
const now = Date.now();
const first = Math.random();
const crypto = require('crypto');
const took = Number(process.hrtime.bigint() - began) / 1e9;
const fs = require('fs');
const vm = require('vm');
const { Worker } = require('worker_threads');
const text = (path) => fs.readFileSync(path, 'utf8').trim();
const context = vm.createContext({});
const differ = {
    'Math.random': first, 'Math.random again': Math.random(),
    'Math.random of a context': vm.runInContext('Math.random()', context),
    'Math.random of a new context': vm.runInNewContext('Math.random()'),
    'Math.random of a script': new vm.Script('Math.random()').runInNewContext(),
    'Math.random in this context': vm.runInThisContext('Math.random()'),
    randomBytes: crypto.randomBytes(16).toString('hex'), randomUUID: crypto.randomUUID(),
    randomInt: crypto.randomInt(2 ** 47), randomFill: crypto.randomFillSync(Buffer.alloc(16)).toString('hex'),
    pseudoRandomBytes: crypto.pseudoRandomBytes(16).toString('hex'),
    getRandomValues: Buffer.from(crypto.webcrypto.getRandomValues(new Uint8Array(16))).toString('hex'),
    'a key': crypto.generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'der' }).toString('hex'),
    mkdtemp: fs.mkdtempSync('/tmp/d-'), boot_id: text('/proc/sys/kernel/random/boot_id'), 'machine-id': text('/etc/machine-id'),
};
const same = { pid: process.pid, parent: process.ppid, hostname: require('os').hostname(), uid: process.getuid() };
const worker = new Worker(`
const crypto = require('crypto');
require('worker_threads').parentPort.postMessage([Math.random(), crypto.randomBytes(16).toString('hex'), crypto.randomUUID(),
    require('vm').runInNewContext('Math.random()')]);`, { eval: true });
worker.on('message', (m) => {
    ['Math.random', 'randomBytes', 'randomUUID', 'Math.random of a context'].forEach((n, i) => {
        differ[n + ' in a worker'] = m[i];
    });
    console.log(JSON.stringify({ differ, same, took, now: now / 1000, began: Number(began) / 1e9,
        forward: process.hrtime.bigint() > began, origin: [1, 2, 3].map(() => Date.now() - performance.timeOrigin - performance.now()).pop() / 1000 }));
});
"""


def clone(t, source, *options, js=False):
    """One job: what it said, with the host's bounds of its clock when it started."""
    directory = t.dir / f"clone{time.monotonic_ns()}"
    directory.mkdir()
    context = type(t)(directory)
    before = time.time()
    result = context.run(source, *options, js=js)
    after = time.time()
    context.expect(result, "success")
    seen = json.loads(result.out)
    # JOB carries the clock and is sent after READY; the program looks before its end was seen.
    phases = result.phases
    seen["bounds"] = (before + phases["ready_ns"] / 1e9,
                      after - (phases["cleaned_ns"] - phases["exited_ns"]) / 1e9)
    seen["machine"] = result.machine
    return seen


def clones(t, source, count, *options, js=False):
    """All from one template, which is there already after the first."""
    first = clone(t, source, *options, js=js)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        rest = list(pool.map(lambda _: clone(t, source, *options, js=js), range(count - 1)))
    found = [first, *rest]
    t.equal(len({s["machine"]["template"] for s in found}), 1, "templates")
    t.equal([s["machine"]["template_built"] for s in rest], [False] * len(rest), "templates built again")
    return found


def check_unique(t, found):
    values = {}
    for seen in found:
        for name, value in seen["differ"].items():
            values.setdefault(name, []).append(json.dumps(value))
    repeated = [f"{name}: {len(set(v))} of {len(v)}" for name, v in values.items() if len(set(v)) != len(v)]
    t.equal(repeated, [], "numbers and names that repeat")
    # Nor may one source repeat what another gives, in this machine or the next.
    strong = [v for name in ("getrandom", "urandom", "secrets", "ssl", "randomBytes", "randomFill") for v in values.get(name, [])]
    t.equal(len(set(strong)), len(strong), "random bytes over all sources")
    for seen in found:
        t.equal(seen["same"], found[0]["same"], "what all machines have in common")


def check_clock(t, seen):
    least, most = seen["bounds"]
    t.true(least - CLOCK_SLACK_S <= seen["now"] <= most + CLOCK_SLACK_S,
           f"the clock was {seen['now']:.3f}, between {least:.3f} and {most:.3f} on the host")
    t.true(seen["forward"], "CLOCK_MONOTONIC went backwards")
    t.true(0 < seen["began"] < 60, f"CLOCK_MONOTONIC began at {seen['began']} s: it jumped with the real-time clock")
    t.true(abs(seen.get("boottime", 0)) < 1, "CLOCK_BOOTTIME is not CLOCK_MONOTONIC")
    t.true(abs(seen.get("file", least) - seen["now"]) < 60, "a file of the job is dated by another clock")
    t.true(abs(seen.get("origin", 0)) < CLOCK_SLACK_S, f"performance.timeOrigin is {seen.get('origin')} s off")
    t.true(seen["took"] < FIRST_RANDOM_S["origin" in seen], f"the first random number took {seen['took']} s")


@case("fifty Python programs from one saved state share no random number, name or id")
def python(t):
    found = clones(t, PYTHON, CLONES_PYTHON)
    t.equal({s["machine"]["interpreter"] for s in found}, {"warm"}, "interpreters")
    check_unique(t, found)
    for seen in found:
        check_clock(t, seen)


@case("ten Node.js programs from one saved state share no random number, name or id")
def node(t):
    found = clones(t, NODE, CLONES_NODE, js=True)
    t.equal({s["machine"]["interpreter"] for s in found}, {"warm"}, "interpreters")
    check_unique(t, found)
    for seen in found:
        check_clock(t, seen)


@case("fresh interpreters from one saved state share no hash seed either")
def fresh(t):
    found = clones(t, PYTHON, 5, "--cold-interpreter")
    t.equal({s["machine"]["interpreter"] for s in found}, {"fresh"}, "interpreters")
    check_unique(t, found)
    t.equal(len({s["hash"] for s in found}), len(found), "hash seeds")


@case("fresh Node.js programs from one saved state share no random number, name or id")
def fresh_node(t):
    found = clones(t, NODE, 3, "--cold-interpreter", js=True)
    t.equal({s["machine"]["interpreter"] for s in found}, {"fresh"}, "interpreters")
    check_unique(t, found)


@case("a saved state that is minutes old gives the right clock and new numbers")
def old(t):
    first = clone(t, PYTHON)
    path = STATE / "templates" / first["machine"]["template"]
    time.sleep(max(0.0, path.stat().st_mtime + 150 - time.time()))
    found = [first, clone(t, PYTHON), clone(t, PYTHON)]
    check_unique(t, found)
    for seen in found:
        check_clock(t, seen)


# Everything a job leaves behind in memory: its own, of files in every place, of pipes and of arguments.
LEAVE = """
import os, sys
secret = bytes.fromhex(open('/in/secret').read())
kept = [bytearray(secret * 512) for _ in range(200)]
for place in ('/tmp', '/work', '/out', '/var/tmp', '/dev/shm'):
    with open(place + '/left-behind', 'wb') as file:
        file.write(secret * 2000)
r, w = os.pipe()
os.write(w, secret * 100)
os.environ['SECRET'] = secret.hex()
print('left', len(kept))
"""

# As root of the guest: the whole memory of the machine by /proc/kcore, for a secret of which only the start is
# known; so that what the search itself has in memory is no hit. A mark of its own must be found, or it proves nothing.
LOOK = """
import hashlib, os, struct, sys
start, length, digest = bytes.fromhex(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
own_start = bytes(b ^ 0x5a for b in start)
own = own_start + os.urandom(length - len(own_start))
planted = [bytearray(own * 64) for _ in range(8)]
own_digest = hashlib.sha256(own).hexdigest()
hits = {'secret': 0, 'own': 0}
core = os.open('/proc/kcore', os.O_RDONLY)
head = os.pread(core, 64, 0)
count = struct.unpack_from('<H', head, 56)[0]
segments, searched = [], 0
for i in range(count):
    kind, flags, offset, virtual, physical, size, _, _ = struct.unpack('<IIQQQQQQ', os.pread(core, 56, 64 + 56 * i))
    if kind == 1 and physical != (1 << 64) - 1 and size < 1 << 33:
        segments.append((offset, size))
for offset, size in segments:
    at = 0
    while at < size:
        try:
            part = os.pread(core, 1 << 20, offset + at)
        except OSError:
            part = b''
        if not part:
            at += 4096
            continue
        searched += len(part)
        for name, what, wanted in (('secret', start, digest), ('own', own_start, own_digest)):
            found = part.find(what)
            while found >= 0:
                if hashlib.sha256(part[found:found + length]).hexdigest() == wanted:
                    hits[name] += 1
                found = part.find(what, found + 1)
        at += max(len(part) - length, 1) if len(part) > length else len(part)
    del part
print(hits['secret'], hits['own'] >= 8, searched >> 20)
for place in ('/tmp', '/work', '/out', '/var/tmp', '/dev/shm'):
    print(place, 'left-behind' in os.listdir(place))
"""


@case("the whole memory of the next machine holds nothing of the job before")
def nothing_left(t):
    secret = os.urandom(64)
    left = t.run(LEAVE, files={"secret": secret.hex().encode()})
    t.expect(left, "success", stdout=b"left 200\n")
    looked = t.run(LOOK, "--root", "--wall", "180s", "--cpu", "180s", timeout=300,
                   args=(secret[:12].hex(), len(secret), hashlib.sha256(secret).hexdigest()))
    t.expect(looked, "success")
    hits, found_own, searched = looked.out.decode().splitlines()[0].split()
    t.equal(found_own, "True", "the search finds what it put into memory itself")
    t.true(int(searched) > looked.machine["memory_bytes"] * 0.8 / (1 << 20), f"only {searched} MiB could be searched")
    t.equal(hits, "0", "places in memory that hold the secret of the job before")
    t.true("True" not in looked.out.decode().split("\n", 1)[1], "a file of the job before is there")
