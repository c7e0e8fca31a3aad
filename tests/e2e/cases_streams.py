"""stdin, stdout and stderr: bytes, complete, in order, capped exactly."""
import hashlib

from harness import case

MIB = 1 << 20
ALL_BYTES = bytes(range(256)) * 40


@case("stdin and stdout carry every byte value")
def all_bytes(t):
    result = t.run("import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())\n", stdin=ALL_BYTES)
    t.expect(result, "success", stdout=ALL_BYTES)
    t.equal(result.doc["stdout"]["encoding"], "base64", "encoding of what is not UTF-8")
    t.equal(result.doc["stdout"]["bytes"], len(ALL_BYTES), "stdout.bytes")


@case("a NUL in UTF-8 text changes neither the verdict nor the text")
def nul_in_text(t):
    want = "\u00e9\0\0{\"verdict\":\"success\"}\n".encode()
    result = t.run(f"import sys\nsys.stdout.buffer.write({want!r})\nsys.exit(3)\n")
    t.expect(result, "user_exception", stdout=want)
    t.equal(result.doc["stdout"]["encoding"], "utf8", "encoding")
    t.equal(result.doc["exit_code"], 3, "exit_code")


@case("97 KiB arrive complete")
def middling(t):
    want = b"".join(b"%07d\n" % n for n in range(97 * 128))
    t.expect(t.run("import sys\nfor n in range(97 * 128):\n    sys.stdout.write('%07d\\n' % n)\n"),
             "success", stdout=want)


@case("one line of 900 KB arrives complete")
def long_line(t):
    t.expect(t.run("print('q' * 900_000)\n"), "success", stdout=b"q" * 900_000 + b"\n")


@case("Node.js loses nothing of 3 MiB at process.exit")
def node_exit(t):
    result = t.run("console.log('z'.repeat(3 * 1024 * 1024)); process.exit(0);\n",
                   "--stdout", "8M", js=True)
    t.expect(result, "success")
    t.equal(result.doc["stdout"]["bytes"], 3 * MIB + 1, "stdout.bytes")
    t.true(result.out == b"z" * (3 * MIB) + b"\n", "stdout differs")


def at_cap(t, stream, size, verdict, **fields):
    result = t.run(f"import sys\nsys.{stream}.buffer.write(b'o' * {size})\n", f"--{stream}", "64K")
    t.expect(result, verdict, **fields)
    t.equal(getattr(result, "out" if stream == "stdout" else "errout"), b"o" * (64 << 10), stream)
    t.equal(result.doc[stream]["truncated"], verdict != "success", "truncated")


@case("stdout of exactly the cap is a success")
def stdout_at_cap(t):
    at_cap(t, "stdout", 64 << 10, "success")


@case("one byte more than the cap of stdout is an overflow, and the cap's bytes come back")
def stdout_over_cap(t):
    at_cap(t, "stdout", (64 << 10) + 1, "output_overflow", reason="stdout")


@case("stderr of exactly the cap is a success")
def stderr_at_cap(t):
    at_cap(t, "stderr", 64 << 10, "success")


@case("one byte more than the cap of stderr is an overflow, and the cap's bytes come back")
def stderr_over_cap(t):
    at_cap(t, "stderr", (64 << 10) + 1, "output_overflow", reason="stderr")


@case("a flood of output ends the job at once")
def flood(t):
    result = t.run("import os\nwhile True:\n    os.write(1, b'f' * 65536)\n", timeout=60)
    t.expect(result, "output_overflow", reason="stdout")
    t.equal(len(result.out), MIB, "bytes kept of stdout")


@case("text split inside a character and without a last newline stays exact")
def split_character(t):
    program = "import os, time\nfor b in 'Grüße 🚲'.encode():\n    os.write(1, bytes([b]))\n" \
              "    os.write(2, bytes([b]))\n"
    want = "Grüße 🚲".encode()
    result = t.run(program)
    t.expect(result, "success", stdout=want, stderr=want)
    t.equal(result.doc["stdout"]["encoding"], "utf8", "encoding")


@case("a daemon that keeps stdout open does not hold up the end")
def daemon_holds(t):
    program = "import os, time\nprint('main', flush=True)\n" \
              "if os.fork() == 0:\n    os.setsid()\n    time.sleep(600)\n"
    result = t.run(program, "--wall", "30s", timeout=60)
    t.expect(result, "success", stdout=b"main\n")


@case("a program that closed its streams still gives its exit code")
def closed_streams(t):
    program = "import os, time\nfor fd in (0, 1, 2):\n    os.close(fd)\ntime.sleep(0.3)\nos._exit(7)\n"
    t.expect(t.run(program), "user_exception", exit_code=7, stdout=b"")


@case("10 MiB of stdin that nobody reads block nothing")
def unread_stdin(t):
    result = t.run("print('not interested')\n", stdin=b"u" * (10 * MIB))
    t.expect(result, "success", stdout=b"not interested\n")


@case("5 MiB of stdin arrive exactly")
def large_stdin(t):
    data = b"".join(hashlib.sha256(b"%d" % n).digest() for n in range(5 * MIB // 32))
    program = "import hashlib, sys\nd = sys.stdin.buffer.read()\n" \
              "print(len(d), hashlib.sha256(d).hexdigest())\n"
    want = f"{len(data)} {hashlib.sha256(data).hexdigest()}\n".encode()
    t.expect(t.run(program, stdin=data), "success", stdout=want)


@case("without --stdin the program reads end of file, again and again")
def end_of_file(t):
    program = "import sys\nprint([sys.stdin.buffer.read(1) for _ in range(3)])\n"
    t.expect(t.run(program), "success", stdout=b"[b'', b'', b'']\n")


@case("--stdin - passes airlock's own stdin on")
def dash(t):
    result = t.run("print(input()[::-1])\n", "--stdin", "-", feed=b"drawer\n")
    t.expect(result, "success", stdout=b"reward\n")


@case("without --json both streams pass through exactly and stderr ends with a summary")
def plain(t):
    program = "import sys\nsys.stdout.buffer.write(b'\\x00\\xffout')\nprint('err', file=sys.stderr)\n"
    result = t.run(program, as_json=False)
    t.equal(result.code, 0, "exit code")
    t.equal(result.raw, b"\x00\xffout", "stdout")
    t.true("err\n" in result.err and "success" in result.err.splitlines()[-1],
           f"stderr is {result.err!r}")


@case("--quiet leaves stderr to the program")
def quiet(t):
    result = t.run("import sys\nprint('only me', file=sys.stderr)\n", "--quiet", as_json=False)
    t.equal((result.code, result.err), (0, "only me\n"), "exit code and stderr")


REOPEN = """
import sys
print(open('/dev/stdin').read(), end='', file=open('/dev/stdout', 'w'))
print('told', file=open('/dev/stderr', 'w'))
"""


@case("/dev/stdin, /dev/stdout and /dev/stderr can be opened by name")
def by_name(t):
    t.expect(t.run(REOPEN, stdin=b"a line\n"), "success", stdout=b"a line\n", stderr=b"told\n")
    result = t.run("process.stdout.write(require('fs').readFileSync('/dev/stdin'))\n", js=True, stdin=b"x" * 100000)
    t.expect(result, "success", stdout=b"x" * 100000)
