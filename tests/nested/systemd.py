#!/usr/bin/python3
"""What is run inside the Debian of tools/systemd-host: airlockd under its unit, from the commands of the
operator's guide to the end of jobs, and of the service. TAP on stdout, with a plan at the end.

Commands come from the guides as they stand there. Everything is 10 to 50 times slower here than on a
host of its own; so jobs of this file name limits, and templates are built before the service starts.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import traceback

from tap import Tap

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
STATE = "/var/lib/airlock"
CONFIG = pathlib.Path("/etc/airlock/airlockd.json")
URL = "http://127.0.0.1:7380"
SOCKET = "/run/airlock/airlockd.sock"
USER = "alice"
# Of the guide's commands: done when the disk was made, by `make install` and with images built elsewhere.
DONE_BEFORE = ("make install", "airlock image build")
PATIENT = {"wall_ms": 300000, "cpu_ms": 300000}
WAITS = "import time\nprint('ready', flush=True)\ntime.sleep({seconds})\nprint('done', flush=True)\n"
ATTEMPTS = 4  # emulated SVM hangs now and then


def sh(command, user=None, seconds=600, **environment):
    """Output and exit code of a shell's command, as somebody."""
    line = ["runuser", "-u", user, "--"] if user else []
    done = subprocess.run([*line, "bash", "-c", command], check=False, timeout=seconds, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          cwd=f"/home/{user}" if user else "/root",
                          env={**os.environ, "HOME": f"/home/{user}" if user else "/root", **environment})
    return done.stdout, done.returncode


def block(name, heading):
    """The commands of the first code block below a heading."""
    text = (DOCS / name).read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(heading)}\n.*?^```\w*\n(.*?)^```$", text, re.S | re.M)
    return found.group(1).splitlines()


def said(command):
    print(f"# $ {command}", flush=True)
    begin = time.monotonic()
    output, code = sh(command)
    print(f"# {time.monotonic() - begin:.1f} s, exit code {code}", flush=True)
    return output, code


def until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(1)
    return True


def shown(unit, name):
    return sh(f"systemctl show --value -p {name} {unit}")[0].strip()


def journal():
    return sh("journalctl -u airlockd -o cat --no-pager")[0]


# --- jobs, by curl ---

def post(code, language="python", **limits):
    pathlib.Path("/root/post.json").write_text(
        json.dumps({"language": language, "code": code, "limits": {**PATIENT, **limits}}), encoding="utf-8")
    output, _ = sh(f"curl -sS -H 'Content-Type: application/json' --data-binary @/root/post.json {URL}/v1/jobs")
    return json.loads(output)["id"]


def job(name):
    return json.loads(sh(f"curl -sS {URL}/v1/jobs/{name}")[0])


def stdout_of(name):
    return sh(f"curl -sS {URL}/v1/jobs/{name}/stdout")[0]


def ended(name, seconds=600):
    until(lambda: job(name)["state"] == "ended", seconds)
    return job(name)


def started(seconds_to_sleep):
    """A job whose program has said that it runs."""
    name = post(WAITS.format(seconds=seconds_to_sleep))
    if not until(lambda: "ready" in stdout_of(name), 300):
        raise RuntimeError(f"the job did not start: {job(name)}")
    return name


def verdict(tap, what, doc, want, reason=None, text=None):
    """One line: the verdict, that the cleanup was proven, and what the program wrote."""
    result = doc.get("result") or {}
    good = doc["verdict"] == want and (reason is None or doc["reason"] == reason)
    good = good and (text is None or result["stdout"]["data"] == text)
    clean = result.get("cleanup", {}).get("verified") is True
    engine = result.get("machine", {}).get("engine")
    tap.line(good and clean and engine == "kvm", f"{what}: {want}, its cleanup verified, on engine kvm",
             json.dumps({key: doc[key] for key in ("verdict", "reason", "attempts")}) + "\n" +
             str(result.get("message")) + "\n" + json.dumps(result.get("cleanup")) + f"\nengine {engine}" +
             f"\nphases {json.dumps(result.get('phases'))}")


# --- what is left ---

def processes():
    """Those of the service beside the two that stay: the front half and the launcher."""
    return sh("ps -e -o pid=,user=,args= | grep -E 'airlock-vmm|airlock' | grep -Ev 'grep|runuser|systemd.py|/usr/bin/airlockd'")[0]


def groups():
    base = pathlib.Path("/sys/fs/cgroup" + shown("airlockd", "ControlGroup"))
    return sorted(str(path.relative_to(base)) for path in base.rglob("*") if path.is_dir())


def mounts():
    pid = shown("airlockd", "MainPID")
    text = pathlib.Path(f"/proc/{pid}/mountinfo").read_text(encoding="utf-8")
    return sorted(line.split()[4] for line in text.splitlines())


class Before:
    """What there is while no job runs."""

    def __init__(self):
        self.mounts, self.groups = mounts(), groups()

    def nothing_left(self, tap, when):
        kept = [(mounts(), self.mounts, "mounts"), (groups(), self.groups, "control groups")]
        until(lambda: mounts() == self.mounts and groups() == self.groups, 60)
        kept = [f"{what}: {sorted(set(now) - set(then))}" for now, then, what in (
            (mounts(), self.mounts, "mounts"), (groups(), self.groups, "control groups")) if set(now) - set(then)]
        tap.line(not kept, f"no mount and no control group is left {when}", "\n".join(kept))
