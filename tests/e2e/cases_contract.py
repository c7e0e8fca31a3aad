"""Contracts: outputs as promised come out, anything else is output_rejected and nothing is kept."""
import io
import tarfile

from cases_outputs import name_of, tree
from harness import case


def writer(files, code=0):
    """A program that writes {name: bytes} to /out and ends with the code."""
    return f"import os\nfor n, d in {files!r}.items():\n" \
           "    os.makedirs(os.path.dirname('/out/' + n), exist_ok=True)\n" \
           f"    open('/out/' + n, 'wb').write(d)\nraise SystemExit({code})\n"


def kept(t, contract, files):
    result = t.run(writer(files), "--contract", contract, out=True)
    t.expect(result, "success", dropped=[])
    t.equal({n: d for n, d in tree(result.out_dir).items() if d is not None},
            {n.encode(): d for n, d in files.items()}, "outputs")


def broken(t, contract, files, rule, name):
    result = t.run(writer(files), "--contract", contract, out=True)
    t.expect(result, "output_rejected", reason=rule, outputs=[], exit_code=0)
    t.true(f"'{name}'" in result.message, f"the message does not name {name}: {result.message}")
    t.equal(tree(result.out_dir), {}, "outputs")
    t.true("output_rule" in {e["kind"] for e in result.events}, "no event output_rule")
    return result


@case("json: one document of the name asked for is kept")
def json_good(t):
    kept(t, "json:sub/result.json", {"sub/result.json": b'{"a": [1, 2.5e3, "\\u00e9", null]}\n'})


@case("json: a second document, or a file beside it, is output_rejected with rule and file")
def json_bad(t):
    result = broken(t, "json:r.json", {"r.json": b'{"a": 1} {}'}, "syntax", "r.json")
    t.equal({name_of(d) for d in result.dropped}, {b"r.json"}, "dropped")
    broken(t, "json:r.json", {"r.json": b"{}", "also": b""}, "unexpected", "also")


@case("json: a document that is too deep, or missing, is output_rejected")
def json_deep(t):
    broken(t, "json:r.json", {"r.json": b"[" * 65 + b"]" * 65}, "depth", "r.json")
    broken(t, "json:r.json", {"x.json": b"{}"}, "missing", "r.json")


@case("csv: a rectangle is kept, a ragged one is output_rejected")
def csv(t):
    kept(t, "csv:t.csv", {"t.csv": b'a,b\r\n1,"x, ""y"""\r\n'})
    broken(t, "csv:t.csv", {"t.csv": b"a,b\n1\n"}, "rectangle", "t.csv")


@case("files: what no pattern matches is output_rejected")
def files(t):
    kept(t, "files:*.txt,d/*", {"a.txt": b"1", "d/b": b"2"})
    broken(t, "files:*.txt", {"a.txt": b"1", "b.csv": b"2"}, "unexpected", "b.csv")


@case("files: links that are merely dropped otherwise are output_rejected")
def files_links(t):
    result = t.run("import os\nos.symlink('/etc/passwd', '/out/link')\n", "--contract", "files",
                   out=True)
    t.expect(result, "output_rejected", reason="dropped", outputs=[])
    t.equal(tree(result.out_dir), {}, "outputs")


@case("archive: a tar of plain files is kept, one with a link is output_rejected")
def archive(t):
    def tar(*members):
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w:gz") as packed:
            for name, kind in members:
                info = tarfile.TarInfo(name)
                info.type, info.linkname = kind, "/etc/passwd"
                packed.addfile(info)
        return data.getvalue()

    kept(t, "archive", {"x.tar.gz": tar(("a", tarfile.REGTYPE))})
    broken(t, "archive:x.tar.gz", {"x.tar.gz": tar(("l", tarfile.SYMTYPE))}, "archive", "x.tar.gz")


@case("a program that fails stays user_exception, whatever the contract")
def failed(t):
    t.expect(t.run(writer({"x": b""}, code=3), "--contract", "json:r.json"), "user_exception",
             exit_code=3)


@case("a contract in a JSON job holds too")
def in_json(t):
    import json  # pylint: disable=import-outside-toplevel
    job = {"language": "python", "code": "open('/out/a', 'w').write('no')", "contract": "json:a",
           "limits": {"wall_ms": 60000, "cpu_ms": 60000}}
    spec = t.write("job.json", json.dumps(job))
    result = t.execute([str(p) for p in t.command("--spec", spec) if p not in ("--wall", "--cpu", "60s")])
    t.expect(result, "output_rejected", reason="syntax")


@case("a contract that is none is refused before anything runs")
def nonsense(t):
    for text in ("jsn:a", "json", "json:../a", "files:a,,b"):
        result = t.run("print()", "--contract", text)
        t.expect(result, "rejected")
        t.true("contract" in result.message, f"message: {result.message}")
