#!/usr/bin/python3
"""End-to-end tests: every case runs build/airlock as a user would. TAP on stdout.

tests/e2e/run.py [-j N] [--filter TEXT] [--list] [--no-prepare]

State (kernel, images) is shared and built once: $AIRLOCK_TEST_STATE, or build/state.
Cases that look at the whole host run alone, after the others.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import harness  # noqa: E402

MODULES = ["verdicts", "readme", "template", "pool", "streams", "limits", "isolation", "outputs", "archive", "contract",
           "badinput", "host", "broken", "root", "records", "edges", "guests", "bench", "clones", "token", "launcher",
           "daemon"]


def can_mount():
    """Root alone does not prove it: a container may forbid mounting."""
    probe = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt"]
    return os.getuid() == 0 and subprocess.run(probe, check=False, capture_output=True).returncode == 0


def prepare():
    """Builds what is missing, with airlock's own progress, before anything is timed."""
    harness.STATE.parent.mkdir(parents=True, exist_ok=True)
    directory = harness.fresh_directory(harness.WORK / "prepare")
    for js, program in ((False, "print('hi')\n"), (True, "console.log('hi')\n")):
        context = harness.Context(directory)
        line = context.command(program=program, js=js)
        done = subprocess.run(line, cwd=directory, env=harness.environment(), check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=900)
        result = harness.Result(done.returncode, done.stdout, b"")
        if result.doc is None or result.verdict != "success":
            print(f"# preparing failed: {result.describe()}"[:1500], file=sys.stderr)


def run_case(case, index, mountable):
    if case.root and not mountable:
        return "skip", "needs root and a mount namespace", 0.0
    directory = harness.fresh_directory(harness.WORK / f"{index:03}")
    context = harness.Context(directory)
    start = time.monotonic()
    try:
        case.function(context)
        state, detail = "ok", ""
    except harness.Skip as reason:
        state, detail = "skip", str(reason)
    except harness.Fail as reason:
        state, detail = "fail", str(reason)
    except Exception:  # a broken case is a failed case, not the end of the run
        state, detail = "fail", traceback.format_exc()
    if state != "fail":
        shutil.rmtree(directory, ignore_errors=True)
    return state, detail, time.monotonic() - start


def report(number, case, outcome):
    state, detail, seconds = outcome
    name = f"{case.module.removeprefix('cases_')}: {case.name}"
    if state == "skip":
        print(f"ok {number} - {name} # SKIP {detail}")
    else:
        print(f"{'ok' if state == 'ok' else 'not ok'} {number} - {name}")
        for line in detail.splitlines()[:40]:
            print("# " + line)
    sys.stdout.flush()
    if not sys.stdout.isatty():
        mark = "" if state == "ok" else f" {state.upper()}: {detail.splitlines()[-1][:300] if detail else ''}"
        print(f"   e2e {number}: {name} ({seconds:.1f} s){mark}", file=sys.stderr, flush=True)


def main():
    # Started in the background of a shell SIGINT is ignored, and airlock would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser()
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("--filter", default="", help="regular expression over 'topic: name'")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--no-prepare", action="store_true", help="for few cases, which then build what they need")
    options = parser.parse_args()

    for module in MODULES:
        __import__(f"cases_{module}")
    chosen = [c for c in harness.CASES
              if re.search(options.filter, f"{c.module.removeprefix('cases_')}: {c.name}")]
    if options.list:
        for case in chosen:
            print(f"{case.module.removeprefix('cases_')}: {case.name}")
        return
    print(f"1..{len(chosen)}", flush=True)
    if not harness.AIRLOCK.exists():
        sys.exit(f"{harness.AIRLOCK} is missing: run `make build` first")
    harness.fresh_directory(harness.WORK)
    if not options.no_prepare:
        prepare()
    mountable = can_mount()
    number = 0
    failed = 0
    together = [c for c in chosen if not c.alone]
    with concurrent.futures.ThreadPoolExecutor(max(1, options.j)) as pool:
        jobs = {pool.submit(run_case, c, i, mountable): c for i, c in enumerate(together)}
        for job in concurrent.futures.as_completed(jobs):
            number += 1
            failed += job.result()[0] == "fail"
            report(number, jobs[job], job.result())
    for index, case in enumerate([c for c in chosen if c.alone], len(together)):
        number += 1
        outcome = run_case(case, index, mountable)
        failed += outcome[0] == "fail"
        report(number, case, outcome)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
