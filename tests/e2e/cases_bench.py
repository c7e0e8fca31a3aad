"""`airlock bench`: what it measures, what it says when a run is wrong, and what it leaves."""
import html.parser
import json
import pathlib
import re
import signal
import subprocess
import tempfile
import time

import harness
from harness import Fail, case

PARTS = ["image", "stage", "template", "clone", "ready", "start", "run", "collect", "inspect", "destroy", "around"]
VOID = {"meta", "br"}
EMPTY = {"circle", "rect", "line"}  # of SVG, closed where they open


def bench(t, *options, state=None, timeout=600):
    line = [str(harness.AIRLOCK), "bench", "--state", str(state or harness.STATE), *map(str, options)]
    done = subprocess.run(line, cwd=t.dir, env={**harness.environment(), "TMPDIR": str(t.dir)}, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def report_of(t, *options):
    code, out, err = bench(t, "--json", *options)
    try:
        return code, json.loads(out)
    except ValueError as why:
        raise Fail(f"no report (exit {code}): {why}; {err[-400:]}") from why


def leftovers(t):
    return [p.name for p in t.dir.iterdir() if p.name.startswith("airlock-bench")]


class Page(html.parser.HTMLParser):
    """Open tags are closed in order; what would be fetched is collected."""

    def __init__(self):
        super().__init__()
        self.open, self.bad, self.fetched = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag == "script":
            self.bad.append("a script")
        self.fetched += [v for k, v in attrs if k in ("src", "href", "data", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        if tag not in EMPTY:
            self.bad.append(f"<{tag}/>")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.bad.append(f"</{tag}>")


@case("airlock bench measures clones and pooled clones, part by part")
def measures(t):
    code, report = report_of(t, "--rounds", 2, "--work", "hello", "--pool", 1, "--density", 2, "--seconds", 1,
                             "--html", "page.html")
    t.equal(code, 0, "exit code")
    rows = {(r["work"], r["language"], r["mode"]): r for r in report["results"]}
    t.equal(sorted(rows), sorted(("hello", language, mode) for language in ("python", "javascript")
                                 for mode in ("clone", "pool")), "rows")
    for key, row in rows.items():
        t.equal((row["runs"], row["failed"], row["why"]), (2, 0, None), f"runs of {key}")
        t.equal(row["warm_runs"], 2, f"interpreters of {key} that waited")
        t.equal(list(row["parts_ms"]), PARTS, f"parts of {key}")
        t.equal(len(row["samples_ms"]), 2, f"samples of {key}")
        wall = row["wall_ms"]
        t.true(0 < wall["min"] <= wall["median"] <= wall["p95"], f"order of {key}: {wall}")
        t.true(row["overhead_ms"]["median"] < wall["median"], f"overhead of {key}")
        t.true(row["cpu_ms"]["min"] > 0, f"CPU of {key}")
        t.true(row["parts_ms"]["run"]["min"] > 0, f"the program's own time of {key}")
    t.true(rows["hello", "python", "clone"]["parts_ms"]["clone"]["min"] > 0, "a clone is made for the job")
    t.equal(rows["hello", "python", "pool"]["parts_ms"]["clone"]["median"], 0, "a pooled one was made before")
    t.equal([r["mode"] for r in report["throughput"]], ["clone", "pool"], "throughput")
    t.true(all(r["jobs"] > 0 and r["failed"] == 0 for r in report["throughput"]), "jobs of throughput")
    density = report["density"]
    t.equal((density["asked"], density["waiting"], density["why"]), (2, 2, None), "density")
    t.equal(len(density["pss_bytes_of_each"]), 2, "a PSS of each machine")
    t.true(min(density["pss_bytes_of_each"]) > 1 << 20, "PSS of a machine")
    page = Page()
    text = (t.dir / "page.html").read_text(encoding="utf-8")
    page.feed(text)
    page.close()
    t.equal((page.bad, page.open), ([], []), "the page is well formed")
    t.equal(page.fetched, [], "what the page would fetch")
    t.equal(re.findall(r"url\(|@import|https?:", text), [], "references in the page")
    t.true(text.count("<svg") == 2 and "prefers-color-scheme:dark" in text, "plots, light and dark")
    t.equal(leftovers(t), [], "what is left")


@case("the transforms of airlock bench succeed in both languages")
def transforms(t):
    for work in ("json", "csv"):
        code, report = report_of(t, "--rounds", 1, "--work", work, "--pool", 0, "--density", 0, "--seconds", 0)
        t.equal((code, [(r["language"], r["runs"], r["failed"], r["why"]) for r in report["results"]]),
                (0, [("python", 1, 0, None), ("javascript", 1, 0, None)]), work)
        t.equal((report["density"], report["throughput"], report["from_empty"]), (None, [], []), "not asked for")


@case("a program of airlock bench does the same work on the host")
def programs(t):
    code, _, err = bench(t, "--programs", t.dir)
    t.equal((code, err), (0, ""), "writing the programs")
    for work in ("json", "csv"):
        lines = [subprocess.run([interpreter, f"{work}-transform.{suffix}", f"data.{work}", f"{suffix}-result"],
                                cwd=t.dir, check=True, capture_output=True, timeout=120).stdout
                 for interpreter, suffix in (("/usr/bin/python3", "py"), ("/usr/bin/node", "js"))]
        t.equal(lines[0], lines[1], f"{work}: both languages count alike")
        t.true(re.fullmatch(rb"kept \d+ total \d+\n", lines[0]), f"{work}: {lines[0]!r}")


@case("airlock bench without a usable state directory says so and measures nothing")
def no_state(t):
    path = t.write("file", "no directory")
    code, out, err = bench(t, "--rounds", 1, state=path)
    t.true(code in (2, 7), f"exit code {code}")
    t.true(str(path) in err or "file" in err, f"the message names it: {err[-300:]}")
    t.equal(out, "", "stdout")


@case("airlock bench refuses numbers out of range")
def bad_numbers(t):
    for options in (["--rounds", "0"], ["--rounds", "1001"], ["--pool", "65"], ["--density", "1025"],
                    ["--seconds", "-1"], ["--work", "tea"], ["extra"]):
        code, out, err = bench(t, *options)
        t.equal((code, out), (2, ""), f"{options}: {err[-200:]}")


@case("an interrupted airlock bench tells what it has, and leaves nothing")
def interrupted(t):
    line = [str(harness.AIRLOCK), "bench", "--state", str(harness.STATE), "--json", "--rounds", "1000", "--work",
            "hello", "--language", "python", "--pool", "0"]
    with tempfile.TemporaryFile() as out, subprocess.Popen(
            line, cwd=t.dir, env={**harness.environment(), "TMPDIR": str(t.dir)}, stdin=subprocess.DEVNULL,
            stdout=out, stderr=subprocess.PIPE) as process:
        seen = b""
        while b"round 2 " not in seen:
            piece = process.stderr.readline()
            t.true(piece, f"it ended before its second round: {seen[-300:]!r}")
            seen += piece
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        process.communicate(timeout=120)
        t.equal(process.returncode, 9, "exit code")
        t.true(time.monotonic() - start < 120, "it ended")
        out.seek(0)
        report = json.loads(out.read())
    t.equal((report["interrupted"], report["results"][0]["failed"]), (True, 0), "the report")
    t.true(report["results"][0]["runs"] >= 1, "finished runs are kept")
    t.equal(leftovers(t), [], "what is left")


@case("bench/peers measures beside the host's interpreter and holds the bars against it")
def peers(t):
    line = [str(harness.ROOT / "bench" / "peers"), "--json", "--rounds", "1", "--works", "hello", "--peers", "native",
            "--density", "0", "--seconds", "0", "--airlock", str(harness.AIRLOCK), "--state", str(harness.STATE)]
    done = subprocess.run(line, cwd=t.dir, env={**harness.environment(), "TMPDIR": str(t.dir)}, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
    t.equal(done.returncode, 0, f"exit code; {done.stderr.decode()[-400:]}")
    report = json.loads(done.stdout)
    t.equal(sorted({(r["peer"], r["work"], r["language"]) for r in report["results"]}),
            sorted((peer, "hello", language) for peer in ("airlock", "native") for language in ("python", "javascript")),
            "results")
    numbers = {n["what"]: n for n in report["numbers"]}
    t.equal(len(numbers), 10, "numbers")
    t.equal(numbers["airlock run, Python hello"]["pass"], None, "a peer that did not run gives no verdict")
    own = numbers["all phases outside QEMU and guest"]
    t.true(own["pass"] is (own["of_bar"] <= 1), f"a bar is held against what was measured: {own}")
    t.equal([p.name for p in pathlib.Path(t.dir).iterdir() if p.name.startswith("airlock-peers")], [], "what is left")
