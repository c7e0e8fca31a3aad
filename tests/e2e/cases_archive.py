"""--in-archive: tars and zips become files in /in, or the job is refused before anything runs."""
import base64
import gzip
import io
import json
import tarfile
import zipfile

from harness import case

LIST = "import os, json\nfound = {}\nfor d, ds, fs in os.walk('/in'):\n" \
       "    for n in ds: found[os.path.join(d, n)[4:]] = None\n" \
       "    for n in fs: found[os.path.join(d, n)[4:]] = open(os.path.join(d, n)).read()\n" \
       "print(json.dumps(found, sort_keys=True))\n"
TREE = {"a.txt": "hello", "d": None, "d/e": None, "d/e/b": "x" * 5000}


KINDS = {"hard link": tarfile.LNKTYPE, "symbolic link": tarfile.SYMTYPE, "device": tarfile.CHRTYPE,
         "FIFO": tarfile.FIFOTYPE}


def tar(*members, mode="w"):
    """Bytes of a tar of (name, bytes) files and (name, one of KINDS) others."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as packed:
        for name, what in members:
            info = tarfile.TarInfo(name)
            if isinstance(what, bytes):
                info.size, info.mode = len(what), 0o6777
                packed.addfile(info, io.BytesIO(what))
            else:
                info.type, info.linkname = KINDS[what], "a.txt"
                packed.addfile(info)
    return data.getvalue()


def zipped(*members):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members:
            packed.writestr(zipfile.ZipInfo(name), content)
    return data.getvalue()


FILES = (("a.txt", b"hello"), ("d/e/b", b"x" * 5000))


def accepted(t, name, data, want=None):
    result = t.run(LIST, "--in-archive", t.write(name, data))
    t.expect(result, "success")
    t.equal(json.loads(result.out), TREE if want is None else want, f"/in from {name}")
    return result


def refused(t, name, data, part, *options):
    result = t.run("print('ran')", "--in-archive", t.write(name, data), *options)
    t.expect(result, "rejected", reason="inputs")
    t.true(part in result.message, f"{name}: not '{part}' in: {result.message}")
    t.true(name in result.message, f"the archive is not named: {result.message}")


@case("a tar, plain and compressed, is unpacked into /in with its directories")
def formats(t):
    result = accepted(t, "x.tar", tar(*FILES))
    t.equal([(i["name"], i["bytes"]) for i in result.doc["inputs"]], [("a.txt", 5), ("d/e/b", 5000)],
            "inputs in the result")
    accepted(t, "x.tar.gz", tar(*FILES, mode="w:gz"))


@case("a zip is unpacked into /in with its directories, whatever it is called")
def zips(t):
    accepted(t, "x.dat", zipped(("d/", b""), *FILES))


@case("the program can neither write nor change what was unpacked")
def read_only(t):
    program = "import os\nprint(oct(os.stat('/in/a.txt').st_mode), oct(os.stat('/in/d').st_mode))\n" \
              "for p in ('/in/a.txt', '/in/d/new'):\n" \
              "    try: open(p, 'w')\n    except OSError as e: print(e.errno)\n"
    result = t.run(program, "--in-archive", t.write("x.tar", tar(*FILES)))
    t.expect(result, "success", stdout=b"0o100444 0o40555\n30\n30\n")


@case("an archive in a JSON job is unpacked too, beside files")
def in_json(t):
    job = {"language": "python", "code": LIST, "files": [{"name": "f", "content": "1"}],
           "archive_base64": base64.b64encode(tar(*FILES)).decode("ascii"),
           "limits": {"wall_ms": 60000, "cpu_ms": 60000}}
    spec = t.write("job.json", json.dumps(job))
    result = t.execute([str(p) for p in t.command("--spec", spec) if p not in ("--wall", "--cpu", "60s")])
    t.expect(result, "success")
    t.equal(json.loads(result.out), {**TREE, "f": "1"}, "/in")


@case("an archive with anything but plain files of plain names is refused, with entry and rule")
def hostile(t):
    refused(t, "slip.tar", tar(("../evil", b"x")), "entry '../evil' has '..'")
    refused(t, "abs.tar", tar(("/tmp/evil", b"x")), "absolute")
    for kind in KINDS:
        refused(t, "kind.tar", tar(("a.txt", b"x"), ("other", kind)), f"'other' is a {kind}")
    refused(t, "twice.zip", zipped(("a", b"1"), ("./a", b"2")), "entry 'a' is there twice")
    refused(t, "below.tar", tar(("a", b"1"), ("a/b", b"2")), "'a' is a file")


@case("an archive that is cut, damaged, or has something behind it is refused")
def damaged(t):
    good = tar(*FILES, mode="w:gz")
    refused(t, "cut.tar.gz", good[:-20], "gzip")
    refused(t, "crc.tar.gz", good[:-8] + bytes(8), "gzip")
    refused(t, "two.tar.gz", good + gzip.compress(tar(("b", b""))), "follows")
    refused(t, "junk.zip", zipped(*FILES) + b"junk", "zip")
    refused(t, "none.rar", b"Rar!\x1a\x07\x01\x00" + bytes(600), "")


@case("a bomb, too many bytes and too many entries are refused, quickly and with the limit")
def budgets(t):
    refused(t, "bomb.tar.gz", tar(("z", bytes(40 << 20)), mode="w:gz"), "200 times")
    refused(t, "big.tar", tar(("z", bytes(5000))), "bytes", "--in-bytes", "4999")
    refused(t, "many.tar", tar(*((f"e{i}", b"") for i in range(9))), "one too many", "--in-files", "8")


@case("an input and an entry of one name are refused")
def both(t):
    result = t.run("print()", "--in-archive", t.write("x.tar", tar(*FILES)), files={"a.txt": b"1"})
    t.expect(result, "rejected", reason="inputs")
    t.true("'a.txt'" in result.message, f"message: {result.message}")


@case("an archive that is not there, a directory or a link is refused like any input")
def not_a_file(t):
    for path in ("/no/such.tar", t.dir):
        t.expect(t.run("print()", "--in-archive", path), "rejected", reason="inputs")
    link = t.path("link.tar")
    link.symlink_to(t.write("x.tar", tar(*FILES)))
    result = t.run("print()", "--in-archive", link)
    t.expect(result, "rejected", reason="inputs")
    t.true("symbolic link" in result.message, f"message: {result.message}")


@case("nothing of an archive is left on the host, unpacked or refused")
def nothing_left(t):
    state = t.private_state()
    for data in (tar(*FILES), tar(("l", "symbolic link"))):
        t.run("print()", "--in-archive", t.write("x.tar", data), state=state)
        t.equal([p.name for p in (state / "tmp").iterdir()] if (state / "tmp").is_dir() else [], [],
                "files in the state's tmp")
        t.wait_gone(state)
