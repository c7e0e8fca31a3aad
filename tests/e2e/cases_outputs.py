"""Outputs: bytes and names exact, nothing but files and directories, all of it or nothing."""
import base64
import hashlib
import os
import pathlib
import shutil
import subprocess

from harness import ROOT, Skip, case

EXAMPLES = ROOT / "examples"
DIGESTS = pathlib.Path(__file__).with_name("example-digests.txt")


def tree(directory):
    """{relative name as bytes: content, or None for a directory}; links are shown as such."""
    found = {}
    base = os.fsencode(directory)
    for where, dirs, files in os.walk(base):
        for name in dirs + files:
            path = os.path.join(where, name)
            rel = os.path.relpath(path, base)
            if os.path.islink(path):
                found[rel] = "link"
            elif os.path.isdir(path):
                found[rel] = None
            else:
                with open(path, "rb") as file:
                    found[rel] = file.read()
    return found


def name_of(entry):
    """The name in a result as bytes; what is not UTF-8 has its exact bytes beside it."""
    if "name_base64" in entry:
        return base64.b64decode(entry["name_base64"], validate=True)
    return entry["name"].encode("utf-8")


@case("files arrive byte for byte, with size and digest in the result")
def exact(t):
    program = "import os\nos.makedirs('/out/sub/deep')\nopen('/out/empty', 'w').close()\n" \
              "open('/out/sub/deep/bytes', 'wb').write(bytes(range(256)) * 1000)\n" \
              "open('/out/sub/x.txt', 'w').write('Grüße')\nos.chmod('/out/sub/x.txt', 0o4777)\n"
    result = t.run(program, out=True)
    t.expect(result, "success", dropped=[])
    data = bytes(range(256)) * 1000
    t.equal(tree(result.out_dir), {b"empty": b"", b"sub": None, b"sub/deep": None,
                                   b"sub/deep/bytes": data, b"sub/x.txt": "Grüße".encode()}, "outputs")
    mode = (result.out_dir / "sub" / "x.txt").stat().st_mode
    t.equal(mode & 0o7022, 0, "setuid and write bits for others")
    listed = {name_of(o): o for o in result.outputs}
    t.equal(listed[b"sub/deep/bytes"]["bytes"], len(data), "bytes")
    t.true(listed[b"sub/deep/bytes"]["sha256"].endswith(hashlib.sha256(data).hexdigest()), "sha256")


@case("links, fifos and sockets are dropped, listed and never followed")
def special(t):
    program = "import os, socket\nos.symlink('/etc/passwd', '/out/link')\nos.symlink('..', '/out/up')\n" \
              "os.mkfifo('/out/fifo')\nsocket.socket(socket.AF_UNIX).bind('/out/socket')\n" \
              "os.symlink('/nowhere', '/out/dangling')\nopen('/out/plain', 'w').write('kept')\n"
    result = t.run(program, out=True)
    t.expect(result, "success")
    t.equal(tree(result.out_dir), {b"plain": b"kept"}, "outputs")
    t.equal({name_of(d) for d in result.dropped}, {b"link", b"up", b"fifo", b"socket", b"dangling"},
            "dropped")


@case("names are bytes: line ends, quotes, controls and what is not UTF-8 come through")
def names(t):
    program = "import os\nfor n in (b'two\\nlines', b'quote\"s', b'-rf', b'..x', b'esc\\x1b[2J',\n" \
              "          b'\\xff\\xfe', b'\\xc3\\xbc', b' ', b'n' * 255):\n" \
              "    os.close(os.open(b'/out/' + n, os.O_CREAT | os.O_WRONLY, 0o600))\n"
    result = t.run(program, out=True)
    t.expect(result, "success")
    want = {b"two\nlines", b'quote"s', b"-rf", b"..x", b"esc\x1b[2J", b"\xff\xfe", b"\xc3\xbc", b" ",
            b"n" * 255}
    t.equal(set(tree(result.out_dir)), want, "outputs")
    t.equal(len(result.outputs), len(want), "outputs listed")
    result.raw.decode("utf-8")  # the JSON itself stays UTF-8


@case("a tree that its owner closed is collected all the same")
def closed_tree(t):
    program = "import os\nos.mkdir('/out/d')\nopen('/out/d/f', 'w').write('x')\n" \
              "os.chmod('/out/d/f', 0)\nos.chmod('/out/d', 0)\n"
    result = t.run(program, out=True)
    t.expect(result, "success")
    t.equal(tree(result.out_dir), {b"d": None, b"d/f": b"x"}, "outputs")


@case("without success no output is kept, but all are listed")
def only_success(t):
    result = t.run("open('/out/a', 'w').write('x')\nraise SystemExit(1)\n", out=True)
    t.expect(result, "user_exception", exit_code=1, outputs=[])
    t.equal(list(result.out_dir.iterdir()), [], "files in --out")
    t.equal({name_of(d) for d in result.dropped}, {b"a"}, "dropped")


@case("without --out outputs are listed and the job succeeds")
def not_wanted(t):
    result = t.run("open('/out/a', 'w').write('x')\n")
    t.expect(result, "success")
    t.true(b"a" in {name_of(e) for e in result.outputs + result.dropped}, "a is not listed")


@case("an older file of the same name is replaced, others stay, --out is made if missing")
def replaced(t):
    out = t.path("results")
    out.mkdir()
    (out / "a").write_text("old", encoding="utf-8")
    (out / "other").write_text("mine", encoding="utf-8")
    t.expect(t.run("open('/out/a', 'w').write('new')\n", "--out", out), "success")
    t.equal(tree(out), {b"a": b"new", b"other": b"mine"}, "outputs")
    fresh = t.path("not/yet/there")
    t.expect(t.run("open('/out/a', 'w').write('new')\n", "--out", fresh), "success")
    t.equal(tree(fresh), {b"a": b"new"}, "outputs")


@case("a collision in --out leaves everything as it was")
def collision(t):
    out = t.path("results")
    (out / "b").mkdir(parents=True)
    outside = t.path("outside")
    outside.mkdir()
    (out / "link").symlink_to(outside)
    program = "import os\nopen('/out/a', 'w').close()\nopen('/out/b', 'w').close()\n" \
              "os.mkdir('/out/link')\nopen('/out/link/escaped', 'w').close()\n"
    result = t.run(program, "--out", out)
    t.true(result.doc is not None and result.verdict != "success", f"not refused: {result.describe()}")
    t.equal(tree(out), {b"b": None, b"link": "link"}, "--out afterwards")
    t.equal(list(outside.iterdir()), [], "files behind the link")


def example(t, program, data, names, interpreter):
    want = dict(reversed(line.split()) for line in DIGESTS.read_text(encoding="ascii").splitlines())
    made = t.path("data")
    subprocess.run(["/usr/bin/python3", EXAMPLES / "make-data.py", made], check=True,
                   stdout=subprocess.DEVNULL)
    t.equal(hashlib.sha256((made / data).read_bytes()).hexdigest(), want[data], f"digest of {data}")
    result = t.run(EXAMPLES / program, "--in", made / data, "--wall", "120s", out=True)
    t.expect(result, "success", stderr=b"")
    for name in names:
        t.equal(hashlib.sha256((result.out_dir / name).read_bytes()).hexdigest(), want[name], name)
    if shutil.which(interpreter) is None:
        raise Skip(f"outputs are right by digest; no {interpreter} on this host to compare with")
    native = t.path("native")
    native.mkdir()
    done = subprocess.run([interpreter, EXAMPLES / program], check=True, stdout=subprocess.PIPE,
                          env={"IN": str(made), "OUT": str(native), "LC_ALL": "C.UTF-8"})
    t.equal(result.out, done.stdout, "stdout inside and outside")
    t.equal(tree(result.out_dir), tree(native), "outputs inside and outside")


@case("the Python example gives what it gives on the host")
def python_example(t):
    example(t, "orders-report.py", "orders.csv", ["report.json", "by-country.csv"], "/usr/bin/python3")


@case("the Node.js example gives what it gives on the host")
def node_example(t):
    example(t, "flatten-catalog.js", "catalog.json", ["flat.csv", "stats.json"], "/usr/bin/node")


@case("outputs over a default cap that nobody asked for are dropped, and the verdict follows the program")
def unwanted(t):
    many = "import sys\nfor i in range(100): open(f'/out/{i}', 'w').close()\nsys.exit(int(sys.argv[1]))\n"
    result = t.run(many, args=["0"])
    t.expect(result, "success", outputs=[], dropped=[])
    told = [e for e in result.events if e["kind"] == "output_dropped"]
    t.equal([e["reason"] for e in told], ["output_files_cap"], "the event's reason")
    t.expect(t.run(many, args=["3"]), "user_exception", exit_code=3)
    t.expect(t.run(many, "--out-files", "64", args=["0"]), "output_overflow", reason="output_files")
    t.expect(t.run(many, args=["0"], out=True), "output_overflow", reason="output_files")
