"""Every limit holds at its edge and over it, and the verdict says which."""
from harness import case

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
    result = t.run("keep = []\nwhile True:\n    keep.append(b'm' * (4 << 20))\n", "--memory", "128M")
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
