"""What cannot be right is refused before anything starts: the thing, the reason, the remedy.

Every case also looks that the state directory and --out are as they were. None boots a machine.
"""
import os
import socket

from harness import FALSE_KVM, STATE, case, tree_of

GOOD = "print('must not run')\n"


def refused(t, result, *words, verdict="rejected", code=2):
    """Exit code, verdict if there is a result at all (a wrong command line may have none), words."""
    t.equal(result.code, code, f"exit code ({result.describe()})")
    if result.doc is not None:
        t.equal(result.verdict, verdict, "verdict")
    t.true(b"must not run" not in result.raw, "the program ran")
    for word in words:
        t.true(word.lower() in result.text.lower(), f"the message lacks '{word}': {result.text.strip()}")


def bad(name, *words, **kind):
    """Registers a case whose function returns the result to judge; nothing may be left behind."""
    def register(function):
        @case(name, **kind)
        def check(t):
            before = tree_of(STATE, ["slots"])  # those of the jobs beside this case
            result = function(t)
            refused(t, result, *words)
            t.equal(tree_of(STATE, ["slots"]), before, "the state directory")
            for left in t.dir.glob("out*"):
                if left.is_dir():
                    t.equal(list(left.iterdir()), [], "files in --out")
        return function
    return register


@bad("a missing script is refused", "nowhere.py", "no such file")
def missing_script(t):
    return t.run(t.path("nowhere.py"), out=True)


@bad("no script at all is refused", "script", "--help")
def no_script(t):
    return t.run(None)


@bad("a script that is a directory is refused", "folder.py")
def script_directory(t):
    t.path("folder.py").mkdir()
    return t.run(t.path("folder.py"))


@bad("a script of an unknown language is refused", "job.rb", ".py")
def unknown_language(t):
    return t.run(t.write("job.rb", "puts 1\n"))


@bad("a missing input is refused", "gone.csv", "no such file")
def missing_input(t):
    return t.run(GOOD, "--in", t.path("gone.csv"), out=True)


@bad("an input that is a symbolic link is refused", "link.csv", "link")
def link_input(t):
    t.write("real.csv", "1")
    t.path("link.csv").symlink_to("real.csv")
    return t.run(GOOD, "--in", t.path("link.csv"))


@bad("an input behind a linked directory is refused", "way", "link")
def link_directory(t):
    t.path("dir").mkdir()
    (t.path("dir") / "a.csv").write_text("1", encoding="ascii")
    t.path("way").symlink_to("dir")
    return t.run(GOOD, "--in", t.path("way") / "a.csv")


@bad("an input that is a directory is refused", "folder", "regular file")
def directory_input(t):
    t.path("folder").mkdir()
    return t.run(GOOD, "--in", t.path("folder"))


@bad("an input that is a fifo is refused without waiting for it", "pipe.csv", "regular file")
def fifo_input(t):
    os.mkfifo(t.path("pipe.csv"))
    return t.run(GOOD, "--in", t.path("pipe.csv"), timeout=20)


@bad("an input that is a socket is refused", "sock.csv")
def socket_input(t):
    here = os.open(t.dir, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(f"/proc/self/fd/{here}/sock.csv")  # the whole path may be too long for a socket
    os.close(here)
    return t.run(GOOD, "--in", t.path("sock.csv"), timeout=20)


@bad("an input that is a device is refused", "/dev/zero", "regular file")
def device_input(t):
    return t.run(GOOD, "--in", "/dev/zero:zero", timeout=20)


@bad("an unreadable input is refused", "secret.csv", "permission denied")
def unreadable_input(t):
    path = t.write("secret.csv", "1")
    path.chmod(0)
    if os.getuid() != 0:
        return t.run(GOOD, "--in", path)
    # As root permissions hold only without CAP_DAC_*.
    return t.run(GOOD, "--in", path, wrap=["setpriv", "--bounding-set=-dac_override,-dac_read_search",
                                           "--inh-caps=-dac_override,-dac_read_search"])


@bad("two inputs of one name are refused", "same.csv")
def same_name(t):
    a = t.write("a.csv", "1")
    return t.run(GOOD, "--in", f"{a}:same.csv", "--in", f"{a}:same.csv")


def bad_name(name, shown):
    @bad(f"the input name {shown} is refused", "name")
    def check(t):
        return t.run(GOOD, "--in", f"{t.write('a.csv', '1')}:{name}")
    return check


for given, text in (("x/y", "x/y"), ("..", ".."), (".", "."), ("", "that is empty"),
                    ("n" * 256, "of 256 bytes")):
    bad_name(given, text)


@bad("inputs over --in-bytes are refused", "in-bytes")
def too_much_input(t):
    return t.run(GOOD, "--in-bytes", "1000", files={"big.csv": b"b" * 1001})


@bad("more inputs than --in-files are refused", "in-files")
def too_many_inputs(t):
    return t.run(GOOD, "--in-files", "1", files={"a.csv": b"1", "b.csv": b"1"})


@bad("more stdin than --stdin-bytes is refused", "stdin")
def too_much_stdin(t):
    return t.run(GOOD, "--stdin-bytes", "10", stdin=b"01234567890")


@bad("a missing --stdin file is refused", "absent", "no such file")
def missing_stdin(t):
    return t.run(GOOD, "--stdin", t.path("absent"))


@bad("an --out that is a file is refused", "taken", "directory")
def out_is_file(t):
    return t.run(GOOD, "--out", t.write("taken", "1"))


@bad("an unknown option is refused and help is named", "--frobnicate", "--help")
def unknown_option(t):
    return t.run(GOOD, "--frobnicate")


@bad("an option without its value is refused", "--wall")
def no_value(t):
    return t.execute([t.command(program=None)[0], "run", "--wall"])


@bad("an environment assignment without = is refused", "NAME")
def bad_env(t):
    return t.run(GOOD, "--env", "NAME")


@bad("an environment assignment without a name is refused", "env")
def nameless_env(t):
    return t.run(GOOD, "--env", "=value")


# option, value: zero, negative, not a number, too large, of the wrong unit
BAD_LIMITS = [
    ("--wall", "0"), ("--wall", "-1"), ("--wall", "soon"), ("--wall", "nan"), ("--wall", "inf"),
    ("--wall", "99999999999s"), ("--memory", "0"), ("--memory", "-64M"), ("--memory", "lots"),
    ("--memory", "1"), ("--memory", "99999999999G"), ("--memory", "1.5G"), ("--memory", ""),
    ("--vcpus", "0"), ("--vcpus", "1000000"), ("--pids", "0"), ("--pids", "64k9"),
    ("--disk", "0"), ("--disk", "100T"), ("--stdout", "-1"), ("--stderr", "1e3"),
    ("--out-bytes", "18446744073709551616"), ("--out-files", "many"), ("--out-depth", "0"),
]


def bad_limit(option, value):
    @bad(f"{option} '{value}' is refused", option.removeprefix("--"), value or option)
    def check(t):
        return t.run(GOOD, option, value)
    return check


for row in BAD_LIMITS:
    bad_limit(*row)


@bad("an engine that is not there is refused, never replaced", "kvm", "engine tcg", root=True)
def no_engine(t):
    return t.run(GOOD, "--engine", "kvm", wrap=FALSE_KVM, state=t.private_state())


@bad("an isolation that no engine here gives is refused", "--isolation hardware", root=True)
def no_isolation(t):
    return t.run(GOOD, "--isolation", "hardware", wrap=FALSE_KVM, state=t.private_state())


@bad("an engine is not taken for an isolation that it does not give", "tcg", "emulated", "hardware")
def other_isolation(t):
    return t.run(GOOD, "--engine", "tcg", "--isolation", "hardware")


@bad("an unknown engine is refused", "warp")
def unknown_engine(t):
    return t.run(GOOD, "--engine", "warp")


@bad("an unknown image is refused with the way to build one", "nosuchimage", "image build")
def unknown_image(t):
    return t.run(GOOD, "--image", "nosuchimage")


@bad("an image name with a slash is refused", "image")
def slashed_image(t):
    return t.run(GOOD, "--image", "../../etc/passwd")


@bad("an image of another digest is refused", "sha256")
def other_digest(t):
    return t.run(GOOD, "--image", "python@sha256:" + "0" * 64)


# What is wrong with a JSON job, and a word the message must have
BAD_JOBS = [
    ("an unknown key", '{"language": "python", "code": "1", "colour": 1}', "colour"),
    ("a limit of zero", '{"language": "python", "code": "1", "limits": {"wall_ms": 0}}', "wall_ms"),
    ("an input name with NUL", '{"language": "python", "code": "1", "files": '
     '[{"name": "a\\u0000b", "content": ""}]}', "name"),
    ("a key given twice", '{"language": "python", "code": "1", "code": "2"}', "twice"),
    ("text that is not JSON", '{"language": ', "line 1"),
]


def bad_job(what, text, word):
    @bad(f"a JSON job with {what} is refused", word)
    def check(t):
        path = t.write("job.json", text)
        return t.execute([t.command(program=None)[0], "run", "--state", STATE, "--json", "--spec", path])
    return check


for row in BAD_JOBS:
    bad_job(*row)


@case("a state directory that cannot be made is told with its path")
def bad_state(t):
    result = t.run(GOOD, state=t.write("file", "1") / "state")
    t.true(result.code in (2, 7), f"exit code: {result.describe()}")
    t.true("file" in result.text, f"the message lacks the path: {result.text.strip()}")


@case("an unknown subcommand is refused")
def unknown_command(t):
    line = t.command(program=None)
    refused(t, t.execute([line[0], "fly"]), "fly")


@case("--help and version answer with 0")
def help_answers(t):
    airlock = t.command(program=None)[0]
    for arguments in (["--help"], ["run", "--help"], ["version"]):
        result = t.execute([airlock, *arguments], timeout=10)
        t.equal(result.code, 0, " ".join(arguments))
        t.true(result.raw.strip() != b"", f"{arguments} says nothing on stdout")
    options = t.execute([airlock, "run", "--help"]).raw.decode()
    for option in ("--wall", "--memory", "--in", "--out", "--stdin", "--env", "--json", "--state"):
        t.true(option in options, f"run --help lacks {option}")


@case("isolation that is not there is refused, never replaced")
def isolation_refused(t):
    for options in (["--isolation", "hardware"], ["--engine", "kvm"]):
        result = t.run("print('ran')\n", *options)
        if result.doc and result.verdict == "success":  # this host has it
            t.equal((result.machine["engine"], result.machine["isolation"]), ("kvm", "hardware"), "machine")
            continue
        t.expect(result, "rejected", reason="engine_unavailable")
        t.true("kvm" in result.message and "emulated" in result.message, result.message)
        t.true(result.stdout is None or result.out == b"", "the program ran")
