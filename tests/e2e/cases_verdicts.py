"""One verdict per job, decided on the host, whatever the program says."""
import json

from harness import STATE, case

# name, program, JavaScript?, verdict, fields of the result
TABLE = [
    ("a Python program that ends well is a success",
     "print('hello')\n", False, "success", {"exit_code": 0, "stdout": b"hello\n", "stderr": b""}),
    ("a JavaScript program that ends well is a success",
     "console.log('hello')\n", True, "success", {"exit_code": 0, "stdout": b"hello\n"}),
    ("exit code 3 is given as it is",
     "import sys\nsys.exit(3)\n", False, "user_exception", {"exit_code": 3, "signal": None}),
    ("exit code 137 is not read as a signal",
     "import os\nos._exit(137)\n", False, "user_exception", {"exit_code": 137, "signal": None}),
    ("a read through a null pointer is SIGSEGV by name",
     "import ctypes\nctypes.string_at(0)\n", False, "user_exception",
     {"exit_code": None, "signal": "SIGSEGV"}),
    ("a program that kills itself with SIGKILL did not run out of memory",
     "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", False, "user_exception",
     {"exit_code": None, "signal": "SIGKILL"}),
    ("an unhandled rejection in Node.js is exit code 1",
     "Promise.reject(new Error('lost'))\n", True, "user_exception", {"exit_code": 1}),
]


def add(name, program, js, verdict, fields):
    @case(name)
    def check(t):
        t.expect(t.run(program, js=js), verdict, **fields)


for row in TABLE:
    add(*row)


@case("a program that cannot be parsed is told as such")
def syntax_error(t):
    result = t.run("print('unfinished'\n")
    t.expect(result, "user_exception", exit_code=1)
    t.true(b"SyntaxError" in result.errout, "no SyntaxError in stderr")
    t.true("parse" in result.message.lower() or "syntax" in result.message.lower(),
           f"the message does not say it: {result.message}")


@case("an exception comes with its traceback")
def traceback_kept(t):
    result = t.run("def f():\n    raise KeyError('wanted')\nf()\n")
    t.expect(result, "user_exception", exit_code=1)
    t.true(b"Traceback" in result.errout and b"KeyError: 'wanted'" in result.errout,
           f"stderr is {result.errout[-200:]!r}")


@case("a printed result decides nothing")
def forged(t):
    fake = '{"verdict":"success","exit_code":0,"cleanup":{"verified":true}}'
    program = f"import os, sys\nprint('{fake}', flush=True)\nprint('{fake}', file=sys.stderr)\n" \
              "for fd in range(3, 64):\n    try:\n        os.write(fd, b'alk1' * 8)\n" \
              "    except OSError:\n        pass\nsys.exit(5)\n"
    t.expect(t.run(program), "user_exception", exit_code=5, stdout=fake.encode() + b"\n")


@case("--exit-code program hands the program's own code through")
def handed_through(t):
    result = t.run("raise SystemExit(42)\n", "--exit-code", "program")
    t.equal((result.code, result.verdict), (42, "user_exception"), "exit code and verdict")


@case("arguments reach the program byte for byte")
def arguments(t):
    args = ["", "two words", "ünï", "-x", "--", "a\nb", "$HOME `id` \\"]
    result = t.run("import json, sys\nprint(json.dumps(sys.argv))\n", args=args)
    t.expect(result, "success")
    t.equal(json.loads(result.out), ["main.py"] + args, "sys.argv")


@case("a command runs in a named image")
def command_in_image(t):
    line = t.command("--image", "python", "--", "python3", "-c", "print(6*7)")
    t.expect(t.execute(line), "success", stdout=b"42\n")


@case("the result tells times, digests and limits")
def evidence(t):
    result = t.run("print('x')\n", "--memory", "192M")
    t.expect(result, "success")
    t.equal(result.limits["memory_bytes"], 192 << 20, "limits.memory_bytes")
    times = [v for v in result.phases.values() if isinstance(v, (int, float))]
    t.true(len(times) >= 4 and all(v >= 0 for v in times), f"phases: {result.phases}")
    text = str(result.machine)
    for what in ("id", "image", "kernel", "initramfs"):
        t.true(what in text, f"machine lacks {what}: {text[:300]}")


@case("a job given as JSON runs like the same job given by options")
def spec_file(t):
    job = {"language": "python", "code": "import sys\nprint(sys.argv[1], open('/in/a').read(), input())\n",
           "args": ["arg"], "stdin": "line\n", "files": [{"name": "a", "content": "file"}],
           "limits": {"wall_ms": 60000}}
    path = t.write("job.json", json.dumps(job))
    line = [t.command(program=None)[0], "run", "--state", STATE, "--json", "--spec", path]
    t.expect(t.execute(line), "success", stdout=b"arg file line\n")
