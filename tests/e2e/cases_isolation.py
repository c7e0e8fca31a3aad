"""What a program can see and reach from inside. One machine runs probe.py; the cases judge it."""
import json
import os
import pathlib
import threading
import time

from harness import Fail, case

PROBE = pathlib.Path(__file__).with_name("probe.py")
lock = threading.Lock()
kept = {}


def probe(t, name="first"):
    """The probe's findings; the machine is run by whichever case comes first."""
    with lock:
        if name not in kept:
            kept[name] = None
            marker = t.write("host-marker", "the host's own")
            before = time.time()
            result = t.run(PROBE, "--env", "GIVEN=ü=1", files={"data.txt": b"designated"},
                           args=[marker])
            t.expect(result, "success")
            kept[name] = json.loads(result.out) | {"span": (before, time.time())}
        if kept[name] is None:
            raise Fail("the probe did not run; see the first isolation case that failed")
        return kept[name]


def judged(name, get, good, what):
    @case(name)
    def check(t):
        value = get(probe(t))
        t.true(good(value), f"{what}: {value}")


def equals(want):
    return lambda value: value == want


def refused(*values):
    return lambda value: value != "done" and (not values or value in values)


judged("the program is a plain user without groups of root",
       lambda p: p["ids"], lambda v: v[0] == [1000] * 3 and v[1] == [1000] * 3 and 0 not in v[2],
       "uids, gids, groups")
judged("it has no capabilities, not even to win back",
       lambda p: p["capabilities"], equals(["0" * 16] * 5), "capability sets")
judged("it cannot gain privileges", lambda p: p["no_new_privs"], equals("1"), "NoNewPrivs")
judged("it holds descriptors 0, 1 and 2 only", lambda p: p["fds"], equals([0, 1, 2]), "descriptors")
judged("there is no network interface but lo", lambda p: p["interfaces"],
       lambda v: set(v) <= {"lo"}, "interfaces")
judged("no address can be reached", lambda p: p["connect"],
       lambda v: all(x != "done" for x in v.values()), "connects")
judged("there is no vsock to the host", lambda p: p["vsock"], refused(), "connect to vsock")
judged("raw packets are refused", lambda p: p["packet"], refused(), "packet socket")
judged("designated files are in /in and nothing else is", lambda p: p["in"],
       equals({"data.txt": "designated"}), "content of /in")
judged("/in cannot be written", lambda p: {k: v for k, v in p["write"].items() if k.startswith("/in")},
       lambda v: set(v.values()) <= {"EROFS", "EACCES"}, "writes in /in")
judged("the root filesystem cannot be written",
       lambda p: {k: p["write"][k] for k in ("/new", "/etc/new", "/etc/passwd", "/usr/bin/new", "/dev/new")},
       lambda v: set(v.values()) <= {"EROFS", "EACCES", "EPERM"}, "writes")
judged("only the places meant for it can be written", lambda p: p["writable"],
       equals([]), "writable directories")
judged("/work, /out and /tmp can be written",
       lambda p: [p["write"][k] for k in ("/work/new", "/out/new", "/tmp/new")], equals(["done"] * 3),
       "writes")
judged("the kernel's switches in /proc are closed",
       lambda p: {k: v for k, v in p["write"].items() if k.startswith("/proc")},
       lambda v: all(x != "done" for x in v.values()), "writes in /proc")
judged("host files cannot be seen", lambda p: p["marker"], equals(False), "the host's file exists")
judged("there is no /sys to look at", lambda p: p["sys"],
       lambda v: v in ([], "EACCES", "ENOENT"), "content of /sys")
judged("kernel memory and log are closed", lambda p: [p["kcore"], p["kmsg"], p["devmem"]],
       lambda v: all(x != "done" for x in v), "reads of kcore, kmsg, /dev/mem")
judged("no device of the machine has a node in /dev", lambda p: p["ports"], equals([]), "nodes")
judged("/dev has the usual nodes", lambda p: p["dev"],
       lambda v: {"null", "zero", "full", "random", "urandom", "fd", "stdin", "stdout", "stderr", "shm"}
       <= set(v), "content of /dev")
judged("it sees its own processes only", lambda p: p["pids"], lambda v: len(v) <= 2, "pids")
judged("the reaper above it tells nothing",
       lambda p: [p["pid1_environ"], p["pid1_mem"], p["pid1_fds"]],
       lambda v: all(x in ("EACCES", "EPERM", "ENOENT", "ESRCH") for x in v), "reads of /proc/1")
judged("the reaper cannot be killed or traced", lambda p: [p["kill_1"], p["ptrace_1"]],
       lambda v: all(x != "done" for x in v), "kill and ptrace")
judged("mounting, renaming the host, becoming root and rebooting are refused",
       lambda p: [p["mount"], p["sethostname"], p["setuid"], p["reboot"], p["mknod"]],
       lambda v: all(x != "done" for x in v), "calls")
judged("the memory killer's preference cannot be lowered", lambda p: p["oom_score_adj"],
       refused(), "writing -1000")
judged("the host's name is not told", lambda p: p["hostname"], equals("airlock"), "hostname")
judged("the environment is bare and in UTF-8", lambda p: p["env"],
       lambda v: v.get("GIVEN") == "ü=1" and v["OUT"] == "/out" and v["HOME"] == "/work"
       and v["LANG"] == "C.UTF-8" and set(v) <= {"PATH", "HOME", "LANG", "OUT", "GIVEN", "LC_CTYPE"},
       "environment")
judged("it starts in /work as main.py", lambda p: [p["cwd"], p["argv"]],
       equals(["/work", ["main.py"]]), "directory and argv[0]")
judged("text is UTF-8 by default", lambda p: p["encoding"], equals(["utf-8", "utf-8"]), "encodings")
judged("the clock is right", lambda p: [p["time"], p["span"]],
       lambda v: v[1][0] - 2 <= v[0] <= v[1][1] + 2, "time inside, and before and after outside")
judged("scratch and inputs are mounted without devices and setuid",
       lambda p: [m for m in p["mounts"] if m[0] in ("/in", "/work", "/out", "/tmp")],
       lambda v: {m[0] for m in v} >= {"/in", "/work", "/out", "/tmp"}
       and all("nosuid" in m[2].split(",") and "nodev" in m[2].split(",") for m in v), "mounts")
judged("the kernel is not the host's", lambda p: [p["kernel"], os.uname().release],
       lambda v: v[0] != v[1] or "cloud" in v[0], "kernel releases")


@case("two machines share no random numbers, boot id or machine id")
def different(t):
    first = probe(t)
    second = probe(t, "second")
    for one, other in zip(first["random"] + [first["machine_id"]],
                          second["random"] + [second["machine_id"]]):
        t.true(one != other or one == "", f"the same in two machines: {one}")


@case("marks left in one machine are not there in the next")
def no_marks(t):
    program = "import os\np = ['/tmp/mark', '/work/mark', '/dev/shm/mark', '/var/tmp/mark']\n" \
              "print([x for x in p if os.path.exists(x)])\nfor x in p:\n    open(x, 'w').close()\n"
    t.expect(t.run(program), "success", stdout=b"[]\n")
    t.expect(t.run(program), "success", stdout=b"[]\n")


@case("a Node.js program sees no interface, no host file and cannot write /in")
def node_probe(t):
    program = """
const fs = require('fs'), os = require('os');
const tries = {};
for (const p of ['/in/x', '/x', '/etc/x', '/proc/sys/kernel/hostname']) {
    try { fs.writeFileSync(p, 'x'); tries[p] = 'done'; } catch (e) { tries[p] = e.code; }
}
console.log(JSON.stringify({tries, net: Object.keys(os.networkInterfaces()), uid: process.getuid(),
    marker: fs.existsSync(process.argv[2]), in: fs.readFileSync('/in/data.txt', 'utf8')}));
"""
    marker = t.write("host-marker", "x")
    result = t.run(program, js=True, files={"data.txt": b"seen"}, args=[marker])
    t.expect(result, "success")
    found = json.loads(result.out)
    t.true("done" not in found["tries"].values(), f"writes: {found['tries']}")
    t.true(set(found["net"]) <= {"lo"}, f"interfaces: {found['net']}")
    t.equal((found["uid"], found["marker"], found["in"]), (1000, False, "seen"), "uid, marker, /in")
