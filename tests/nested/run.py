#!/usr/bin/python3
"""What is run inside the nested host (tools/nested-host): engine kvm with unmodified guests, and
control groups v2 alone. TAP on stdout, with a plan at the end.

Everything is 10 to 50 times slower here, so there is nothing with tight clocks: these are the cases
that show what KVM and v2 do otherwise than TCG and v1.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import traceback

from tap import Tap

AIRLOCK = pathlib.Path("/airlock/build/airlock")
STATE = os.environ["AIRLOCK_TEST_STATE"]

UNIT = ["sys/test-cgroup", "sup/test-hold"]

E2E = [
    "outputs: files arrive byte for byte, with size and digest in the result",
    "limits: a sleeping program ends at the wall limit and keeps what it wrote",
    "limits: CPU time counts every process, and its limit is told apart from the wall's",
    "limits: a program that grows beyond --memory is oom",
    "limits: a fork bomb ends like any other program",
    "limits: what else lives in a machine's control group dies with it, and the result says so",
    "root: root panics its kernel: a sandbox failure, and the panic is in the events",
    "host: after a job no process, mount or file is left",
    "host: the jail around a running machine has the expected posture, every thread",
    "host: a monitor that is stopped (SIGSTOP) ends at the wall limit",
]
SUITE = r"^(basic/hello|network/interface-list)\.py$"
# Programs start 20 times slower here than on a CPU of its own, and compute 10 to 50 times slower.
SLOW = "30"


def doctor(tap):
    for _ in (1, 2):  # on a busy machine a guest may be given up too early
        done = subprocess.run([AIRLOCK, "doctor", "--json", "--state", STATE], check=False, timeout=180,
                              stdout=subprocess.PIPE)
        report = json.loads(done.stdout)
        checks = {check["check"]: check for check in report["checks"]}
        if report["engine"] == "kvm":
            break
    tap.line(checks["kvm"]["state"] == "ok" and report["engine"] == "kvm",
             "doctor: a booted guest proves KVM, and auto takes it", json.dumps(checks["kvm"]))
    tap.line(checks["cgroups"]["state"] == "ok" and checks["cgroups"]["text"].startswith("v2 at"),
             "doctor: control groups are v2 and ours", json.dumps(checks["cgroups"]))


def clones(tap):
    """Machines saved and restored under KVM, of the kinds that the cases need; each may try twice."""
    program = pathlib.Path("/tmp/hello.py")
    program.write_text("print('hello')\n", encoding="ascii")
    for options, interpreter in (([], "warm"), (["--cold-interpreter"], "fresh"),
                                 (["--cold-interpreter", "--disk", "32M"], "fresh")):
        line = [AIRLOCK, "run", "--json", "--state", STATE, "--engine", "kvm", "--wall", "60s", "--cpu", "60s",
                *options, program]
        for _ in (1, 2):
            done = subprocess.run(line, check=False, timeout=240, stdout=subprocess.PIPE)
            if done.returncode == 0:
                break
        result = json.loads(done.stdout)
        got = [result["verdict"], result["machine"]["engine"], result["machine"]["isolation"],
               result["machine"]["interpreter"], result["stdout"]["data"]]
        tap.line(got == ["success", "kvm", "hardware", interpreter, "hello\n"],
                 f"a machine is saved and restored under KVM ({' '.join(options) or 'warm interpreter'})",
                 f"{got}, {result['message']}")
    done = subprocess.run([AIRLOCK, "template", "list", "--json", "--state", STATE], check=False, timeout=60,
                          stdout=subprocess.PIPE)
    made = [item for item in json.loads(done.stdout)["templates"] if item["engine"] == "kvm"]
    sizes = {item["warm"]: item["writes_bytes"] for item in made}
    tap.line(sizes[True] > 100 * 8 and sizes[False] == 0, "a rehearsal told which pages a job's machine writes", f"{sizes}")


def tap_of(tap, prefix, line, environment=None):
    """Hands the lines of another TAP stream on; what it did not tell is a failure."""
    planned, told, code = 0, 0, -1
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})}) as child:
        for text in child.stdout:
            plan = re.match(r"1\.\.(\d+)", text)
            case = re.match(r"(ok|not ok) \d+ (?:- )?([^#]*?)\s*(?:#\s*skip\s*(.*))?$", text, re.I)
            if plan:
                planned = int(plan.group(1))
            elif case:
                told += 1
                name = case.group(2) or case.group(3)  # cmocka: "ok 3 # SKIP its name"
                tap.line(case.group(1) == "ok", f"{prefix}{name}", skip=case.group(3))
            elif text.startswith("#"):
                print(text, end="", flush=True)
    code = child.returncode
    if told < max(planned, 1):
        tap.line(False, f"{prefix}{max(planned, 1) - told} cases were not told, exit code {code}")


def e2e(tap):
    names = "|".join(re.escape(name) for name in E2E)
    line = ["/airlock/tests/e2e/run.py", "--no-prepare", "--filter", f"^({names})$"]
    listed = subprocess.run([*line, "--list"], check=True, stdout=subprocess.PIPE, text=True)
    missing = set(E2E) - set(listed.stdout.splitlines())
    tap.line(not missing, "every case named here exists", "\n".join(sorted(missing)))
    # To have Python started in each machine that is saved costs as much again as its boot.
    tap_of(tap, "", line, {"AIRLOCK_TEST_ENGINE": "kvm", "AIRLOCK_TEST_COLD": "1"})


def run_suite(*options):
    line = [AIRLOCK, "suite", "--json", "--state", STATE, "--engine", "kvm", "-j", "1", *options]
    done = subprocess.run(line, check=False, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def suite(tap, *options):
    tell_suite(tap, run_suite(*options))


def tell_suite(tap, report):
    tap.line(report["engine"] == "kvm" and report["isolation"] == "hardware",
             "suite: runs on engine kvm", f"{report['engine']}, {report['isolation']}")
    for case in report["cases"]:
        skipped = case["why"] if case["state"] == "skip" else None
        tap.line(case["state"] in ("ok", "skip"), f"suite: {case['path']}", f"{case['state']}: {case['why']}", skipped)


def unit(tap):
    for name in UNIT:
        tap_of(tap, f"{name}: ", [f"/airlock/build/tests/unit/{name}"],
               {"CMOCKA_MESSAGE_OUTPUT": "TAP"})


def suite_subset(tap):
    suite(tap, "--slow", SLOW, "--filter", SUITE)


def whole_suite(tap, *options):
    """What did not hold is tried once more: emulated SVM hangs now and then."""
    report = run_suite("--slow", SLOW, "--html", "/suite.html", *options)
    failed = {case["path"]: index for index, case in enumerate(report["cases"]) if case["state"] == "FAIL"}
    if failed:
        paths = "|".join(re.escape(path) for path in failed)
        for case in run_suite("--slow", SLOW, "--filter", f"^({paths})$")["cases"]:
            case["tries"] = 2
            report["cases"][failed[case["path"]]] = case
    pathlib.Path("/suite.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    tell_suite(tap, report)


# Of these, those named on the command line in turn.
PARTS = {"doctor": doctor, "unit": unit, "clones": clones, "e2e": e2e, "suite": suite_subset}


def main():
    tap = Tap()
    whole = sys.argv[1:2] == ["whole"]  # and options of airlock suite
    for name in ["whole"] if whole else sys.argv[1:]:
        try:
            if whole:
                whole_suite(tap, *sys.argv[2:])
            else:
                PARTS[name](tap)
        except Exception:  # a broken part is a failed one, not the end of the run
            tap.line(False, f"{name}: came to its end", traceback.format_exc())
        uptime = pathlib.Path("/proc/uptime").read_text(encoding="ascii").split()[0]
        print(f"# {name} ended {uptime} s after the start", flush=True)
    print(f"1..{tap.number}", flush=True)


main()
