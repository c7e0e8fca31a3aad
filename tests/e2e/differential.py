#!/usr/bin/python3
"""Every program of tests/differential runs twice in the guest, with a fresh interpreter and with the
one that waited in the template; both must do the same, byte for byte. TAP on stdout.

tests/e2e/differential.py [-j N] [--filter RE] [--part I/N] [--cases DIR] [--first OPTIONS] [--second OPTIONS]

--part 2/5      only the second fifth, chosen by a hash of the name: stable while programs come and go
--cases DIR     the programs below DIR, with the headers of `airlock suite --cases`, instead
--first, --second  options of `airlock run` for the two runs; `--first= --second=` compares fresh with fresh

The first line of a program is `# differential: {json}` (`//` in JavaScript). Keys, all optional:
  args, env, stdin, inputs, options  what `airlock run` is given (stdin and inputs: latin-1 text)
  stdin_bytes      so many zero bytes as stdin
  program          the bytes of the program (latin-1) in place of the file, which then only holds the header
  verdict, exit, signal, has  what the fresh interpreter must come to: "success", 0, null, text in stdout.
                   So that no two runs agree by failing the same way unseen
  varies           [[regular expression, replacement, why], ...] for the output of both runs
  known            a difference in stdout that docs/warm.md names: it must be there, and nothing else
  fresh            why no waiting interpreter can serve this program: then both must be fresh
"""
import argparse
import concurrent.futures
import dataclasses
import difflib
import json
import pathlib
import re
import shlex
import shutil
import signal
import sys
import time
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import harness  # noqa: E402

PROGRAMS = harness.ROOT / "tests" / "differential"
WORK = harness.AIRLOCK.parent / "differential"
SUFFIXES = {".py": "#", ".js": "//", ".mjs": "//", ".cjs": "//"}
KEYS = {"args": list, "env": dict, "stdin": str, "stdin_bytes": int, "inputs": dict, "options": list,
        "program": str, "verdict": str, "exit": int, "signal": str, "has": str, "varies": list, "known": str, "fresh": str}
SPECIAL_BYTES = 4096  # outputs up to this size are shown in a difference


@dataclasses.dataclass
class Program:
    name: str
    path: pathlib.Path
    head: dict
    ours: bool  # with a header of this test, not of the suite


@dataclasses.dataclass
class Seen:
    """All that a job's caller can tell of it, but for times and sizes of memory."""
    fields: dict   # name -> value; streams and files as bytes
    interpreter: str


def header(path, mark):
    first = path.read_bytes().split(b"\n", 1)[0].decode("utf-8")
    lead = f"{SUFFIXES[path.suffix]} {mark}: "
    if not first.startswith(lead):
        raise SystemExit(f"{path}: the first line must be '{lead}{{...}}'")
    try:
        head = json.loads(first[len(lead):])
    except ValueError as error:
        raise SystemExit(f"{path}: header: {error}") from None
    if not isinstance(head, dict):
        raise SystemExit(f"{path}: the header is no JSON object")
    return head


def check_header(path, head):
    for key, value in head.items():
        if key not in KEYS or not isinstance(value, KEYS[key]):
            raise SystemExit(f"{path}: key '{key}' is unknown, or its value is of a wrong type")
    for rule in head.get("varies", []):
        if len(rule) != 3 or not rule[2]:
            raise SystemExit(f"{path}: 'varies' needs [regular expression, replacement, why]")
    return head


def load(directory):
    ours = directory is None
    root = PROGRAMS if ours else pathlib.Path(directory)
    found = []
    for path in sorted(p for p in root.rglob("*") if p.suffix in SUFFIXES):
        head = header(path, "differential" if ours else "airlock-case")
        name = str(path.relative_to(root))
        found.append(Program(name, path, check_header(path, head) if ours else head, ours))
    if not found:
        raise SystemExit(f"{root}: no programs")
    return found


def suite_options(head, path):
    """What `airlock suite` would pass on, roughly: both runs get the same, which is what counts here."""
    limits = head.get("limits", {})
    units = {"mem_mib": ("memory", "M"), "pids": ("pids", ""), "disk_mib": ("disk", "M"), "out_kib": ("stdout", "K"),
             "err_kib": ("stderr", "K"), "inodes": ("inodes", ""), "vcpus": ("vcpus", ""),
             "out_files": ("out-files", ""), "out_depth": ("out-depth", ""), "out_total_kib": ("out-bytes", "K")}
    options = []
    for key, (option, unit) in units.items():
        if key in limits:
            least = 32 if key == "pids" and path.suffix != ".py" else 1
            options += [f"--{option}", f"{max(limits[key], least)}{unit}"]
    ends_by_time = "timeout" in str(head["expect"])
    for clock, otherwise in (("wall", 10), ("cpu", 10)):
        seconds = limits.get(f"{clock}_s", otherwise)
        options += [f"--{clock}", f"{int(1000 * (seconds + 5 if ends_by_time else seconds * 10))}ms"]
    options += ["--root"] if head.get("root") else []
    options += ["--contract", head["contract"]] if "contract" in head else []
    return options


def run_once(program, directory, more):
    head = program.head
    t = harness.Context(harness.fresh_directory(directory))
    options = head.get("options", []) + more if program.ours else suite_options(head, program.path) + more
    for clock in ("--wall", "--cpu"):
        options += [] if clock in options else [clock, "120s"]
    for name, value in head.get("env", {}).items():
        options += ["--env", f"{name}={value}"]
    path = t.write("program" + program.path.suffix,
                   head["program"].encode("latin-1") if program.ours and "program" in head
                   else program.path.read_bytes())
    coding = "latin-1" if program.ours else "utf-8"
    stdin = head["stdin"].encode(coding) if "stdin" in head else None
    stdin = bytes.fromhex(head["stdin_hex"]) if "stdin_hex" in head else stdin
    stdin = bytes(head["stdin_bytes"]) if "stdin_bytes" in head else stdin
    for index, (name, text) in enumerate({**head.get("inputs", {}), **head.get("in", {})}.items()):
        options += ["--in", f"{t.write(f'input{index}', text.encode(coding))}:{name}"]
    result = t.run(path, *options, args=head.get("args", []), stdin=stdin, out=True, timeout=400)
    if result.doc is None:
        raise harness.Fail(f"no JSON result: {result.describe()}")
    return seen_of(result)


def seen_of(result):
    fields = {name: result.doc[name] for name in ("verdict", "reason", "message", "exit_code", "signal", "dropped")}
    fields["airlock's exit code"] = result.code
    fields["events"] = sorted(event["kind"] for event in result.events)
    fields["stdout"] = result.out
    fields["stderr"] = result.errout
    for path in sorted(result.out_dir.rglob("*")):
        name = f"file {path.relative_to(result.out_dir)}"
        fields[name] = path.read_bytes() if path.is_file() else "directory"
    return Seen(fields, (result.machine or {}).get("interpreter", "unnamed"))


def normal(value, rules):
    if not isinstance(value, bytes):
        return value
    for pattern, replacement, _ in rules:
        value = re.sub(pattern.encode("utf-8"), replacement.encode("utf-8"), value)
    return value


def differences(first, second, rules=()):
    """{field: lines that show the difference}."""
    found = {}
    for name in [*first.fields, *(n for n in second.fields if n not in first.fields)]:
        a, b = (normal(s.fields.get(name, "absent"), rules) for s in (first, second))
        if a == b:
            continue
        if isinstance(a, bytes) and isinstance(b, bytes) and max(len(a), len(b)) < 64 * SPECIAL_BYTES:
            texts = [v.decode("utf-8", "backslashreplace").splitlines() for v in (a, b)]
            shown = list(difflib.unified_diff(*texts, "fresh", "warm", n=0, lineterm=""))[2:]
            found[name] = shown or [f"{a[:200]!r}", f"{b[:200]!r}"]
        else:
            found[name] = [f"-{str(a)[:500]}", f"+{str(b)[:500]}"]
    return found


def unexpected(program, seen):
    """What the header says of the fresh interpreter's run and does not hold."""
    head = program.head
    wanted = {"verdict": head.get("verdict", "success"), "signal": head.get("signal"),
              "exit_code": head.get("exit", None if "signal" in head else 0)}
    if wanted["verdict"] not in ("success", "user_exception"):
        wanted = {"verdict": wanted["verdict"]}
    wrong = [f"{k} is {seen.fields[k]!r}, not {v!r}" for k, v in wanted.items() if seen.fields[k] != v]
    if head.get("has", "").encode("utf-8") not in seen.fields["stdout"]:
        wrong.append(f"stdout lacks {head['has']!r}")
    written = (v for k, v in seen.fields.items() if k in ("stdout", "stderr") or k.startswith("file "))
    if "has" not in head and not any(written):
        wrong.append("the program wrote nothing that could be compared")
    return wrong


def wrong_interpreter(program, options, seen):
    if not program.ours or "--cold-interpreter" not in options.first:
        return []
    wanted = ("fresh", "fresh" if "fresh" in program.head or "--cold-interpreter" in options.second else "warm")
    got = tuple(s.interpreter for s in seen)
    return [] if got == wanted else [f"the interpreters were {got}, not {wanted}"]


def compare(program, index, options):
    """Returns the lines that say what is wrong (none: the same), and remarks."""
    directory = WORK / f"{index:03}"
    rules = program.head.get("varies", []) if program.ours else []
    try:
        seen = [run_once(program, directory, shlex.split(more)) for more in (options.first, options.second)]
        found = differences(*seen, rules)
        remarks = []
        if found and "known" not in program.head:
            # Is it the interpreter, or does this program differ between any two runs?
            again = differences(seen[0], run_once(program, directory, shlex.split(options.first)), rules)
            remarks = [f"differs between two fresh runs as well: {', '.join(again)}"] if again else []
            if not program.ours:  # then it is not this test's to say
                found = {name: lines for name, lines in found.items() if name not in again}
        wrong = wrong_interpreter(program, options, seen)
        wrong += unexpected(program, seen[0]) if program.ours else []
    except harness.Fail as reason:
        return [str(reason)], []
    if "known" in program.head and program.ours:
        remarks, gone = [f"known: {program.head['known']}"], "stdout" not in found
        wrong += ["the known difference is gone: take it out of the header and of docs/warm.md"] if gone else []
        found.pop("stdout", None)
    shutil.rmtree(directory, ignore_errors=True)
    if wrong:
        wrong.append(f"stderr: {seen[0].fields['stderr'][-600:].decode('utf-8', 'replace')}")
    for name, lines in found.items():
        wrong += [f"{name} differs:", *lines[:30], *([f"and {len(lines) - 30} lines"] if len(lines) > 30 else [])]
    return wrong, remarks


def notices_every_difference():
    """This test on itself, without machines: a change in any one field is found, and only that."""
    fields = {"verdict": "success", "reason": None, "exit_code": 0, "signal": None, "stdout": b"at 5 s\n",
              "stderr": b"", "file a": b"\0\1", "events": ["exit"]}
    changed = {"verdict": "oom", "reason": "wall", "exit_code": 1, "signal": "SIGTERM", "stdout": b"at 5 s",
               "stderr": b"\r", "file a": b"\0\2", "events": ["exit", "oom_kill"], "file b": b"more"}
    same = Seen(fields, "fresh")
    wrong = [name for name, value in changed.items()
             if list(differences(same, Seen({**fields, name: value}, "warm"))) != [name]]
    wrong += ["nothing at all"] if differences(same, Seen(dict(fields), "warm")) else []
    wrong += ["a file that is gone"] if not differences(
        same, Seen({k: v for k, v in fields.items() if k != "file a"}, "warm")) else []
    late = Seen({**fields, "stdout": b"at 7 s\n"}, "warm")
    wrong += ["what varies"] if differences(same, late, [["at \\d s", "at N s", "time"]]) else []
    return [f"missed or made up: {', '.join(wrong)}"] if wrong else []


def notices_a_program(options):
    """The same with machines: the second run gets one variable more."""
    path = PROGRAMS / "python" / "environ.py"
    program = Program("environ.py", path, header(path, "differential"), True)
    other = argparse.Namespace(first=options.first, second=options.second + " --env ADDED=1")
    wrong, _ = compare(program, 999, other)
    return [] if any("ADDED" in line for line in wrong) else ["a variable more was not noticed", *wrong]


def choose(programs, options):
    index, parts = (int(n) for n in options.part.split("/"))
    return [p for p in programs if re.search(options.filter, p.name)
            and zlib.crc32(p.name.encode("utf-8")) % parts == index % parts]


class Tap:
    def __init__(self):
        self.number = 0
        self.failed = 0

    def line(self, name, wrong, remarks=(), seconds=0.0):
        self.number += 1
        self.failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {self.number} - {name}")
        for text in [*remarks, *wrong][:120]:
            print("# " + text.replace("\n", "\n# "))
        sys.stdout.flush()
        if not sys.stdout.isatty():
            mark = f" FAIL: {wrong[0][:200]}" if wrong else ""
            print(f"   {name} ({seconds:.1f} s){mark}", file=sys.stderr, flush=True)


def timed(program, index, options):
    start = time.monotonic()
    return *compare(program, index, options), time.monotonic() - start


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser()
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("--filter", default="", help="regular expression over the name")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--cases")
    parser.add_argument("--first", default="--cold-interpreter")
    parser.add_argument("--second", default="")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()

    chosen = choose(load(options.cases), options)
    if options.list:
        print("\n".join(p.name for p in chosen))
        return
    tap = Tap()
    with concurrent.futures.ThreadPoolExecutor(max(1, options.j)) as pool:
        jobs = {pool.submit(timed, p, i, options): p for i, p in enumerate(chosen)}
        try:
            for job in concurrent.futures.as_completed(jobs):
                tap.line(f"differential: {jobs[job].name}", *job.result())
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    if options.cases is None and not options.filter:
        tap.line("differential: a change in any field is noticed", notices_every_difference())
        tap.line("differential: a program that differs is noticed", notices_a_program(options))
    print(f"1..{tap.number}")
    sys.exit(1 if tap.failed or not tap.number else 0)


if __name__ == "__main__":
    main()
