#!/usr/bin/python3
"""The quick subset of `airlock suite`, and that a broken airlock does not pass it. TAP on stdout.

tests/e2e/suite.py [-j N] [--all]

--all runs the whole suite instead of the quick subset. State as in run.py.
"""
import argparse
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import harness  # noqa: E402

BUILD = harness.AIRLOCK.parent
HTML = BUILD / "suite.html"

# A build with one check taken out (tests/doubles), the kind that must notice, and by what.
DOUBLES = [
    ("airlock-ignores-cpu-limit", "basic/spin", "the reason is 'wall', not 'cpu'",
     "a supervisor that ignores the CPU limit"),
    ("airlock-takes-links", "basic/outputs", "output 'link' was not expected",
     "an inspection that lets links through"),
]


def suite(binary, *options):
    """Returns the exit code and the report (None if there was none)."""
    line = [str(binary), "suite", "--json", "--state", str(harness.STATE), *options]
    done = subprocess.run(line, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        return done.returncode, None


class Tap:
    def __init__(self):
        self.number = 0
        self.failed = 0

    def line(self, good, name, skip=None, detail=""):
        self.number += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.number} - {name}{f' # SKIP {skip}' if skip else ''}")
        for text in detail.splitlines()[:20]:
            print("# " + text)
        sys.stdout.flush()


def report_cases(tap, options):
    code, report = suite(harness.AIRLOCK, "-j", str(options.j), "--html", str(HTML),
                         *([] if options.all else ["--quick"]))
    if report is None:
        tap.line(False, f"suite: no report, exit code {code}")
        return
    for case in report["cases"]:
        tap.line(case["state"] in ("ok", "skip"), f"suite: {case['path']}",
                 case["why"] if case["state"] == "skip" else None,
                 "" if case["state"] == "ok" else f"{case['state']}: {case['why']}")
    holds = all(case["state"] in ("ok", "skip") for case in report["cases"])
    tap.line(report["all_hold"] == holds and (code == 0) == holds and HTML.stat().st_size > 0,
             "suite: exit code and report agree", detail=f"exit code {code}")


def report_doubles(tap):
    for name, kind, noticed, what in DOUBLES:
        code, report = suite(BUILD / "tests" / "doubles" / name, "--filter", f"^{kind}\\.py$")
        cases = report["cases"] if report else []
        good = (code == 1 and [(c["path"], c["state"]) for c in cases] == [(f"{kind}.py", "FAIL")]
                and noticed in cases[0]["why"])
        tap.line(good, f"suite: {what} fails {kind}",
                 detail=f"exit code {code}, {[(c['path'], c['state'], c['why']) for c in cases]}")


def report_refusals(tap):
    directory = harness.fresh_directory(BUILD / "suite-refused")
    wrong = directory / "family" / "wrong.py"
    wrong.parent.mkdir(parents=True)
    for text, named in [('{"expect": "success", "typo": 1}', "'typo'"), ('{"expect": "fine"}', "'fine'"),
                        ("", "first line")]:
        wrong.write_text(f"# airlock-case: {text}\n" if text else "print(1)\n", encoding="utf-8")
        done = subprocess.run([harness.AIRLOCK, "suite", "--cases", directory, "--list"], check=False,
                              capture_output=True, text=True)
        tap.line(done.returncode == 2 and "family/wrong.py" in done.stderr and named in done.stderr,
                 f"suite: a first line is refused by file and {named}",
                 detail=f"exit code {done.returncode}, {done.stderr}")
    shutil.rmtree(directory)


def report_interrupt(tap):
    """Ctrl-C in the middle: it says so, the report is there, nothing is left behind."""
    directory = harness.fresh_directory(BUILD / "suite-interrupted")
    line = [harness.AIRLOCK, "suite", "--json", "--state", harness.STATE, "--filter", "^basic/hello", "-j", "1"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env={**harness.environment(), "TMPDIR": str(directory)}) as child:
        until = time.monotonic() + 60
        while not list(directory.glob("*/*/stdout")) and time.monotonic() < until:
            time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        report = json.loads(child.stdout.read() or "null")
    left = list(directory.iterdir())
    good = (child.returncode == 9 and not left and report and report["interrupted"]
            and not report["all_hold"] and report["counts"]["not_run"] > 0)
    tap.line(bool(good), "suite: an interrupted run says so and leaves nothing behind",
             detail=f"exit code {child.returncode}, {left}")
    shutil.rmtree(directory)


def main():
    # Started in the background of a shell SIGINT is ignored, and the suite would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser()
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("--all", action="store_true")
    tap = Tap()
    report_cases(tap, parser.parse_args())
    report_doubles(tap)
    report_refusals(tap)
    report_interrupt(tap)
    print(f"1..{tap.number}")
    sys.exit(1 if tap.failed else 0)


main()
