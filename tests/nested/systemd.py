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
GROUP = "/sys/fs/cgroup/system.slice/airlockd.service"
USER = "alice"
# Of the guide's commands: done when the disk was made, by `make install` and with images built elsewhere.
SLOW = ("airlock doctor", "airlock template build")  # boots in them have time limits
DONE_BEFORE = ("make install", "airlock image build")
PATIENT = {"wall_ms": 300000, "cpu_ms": 300000}
WAITS = "import time\nprint('ready', flush=True)\ntime.sleep({seconds})\nprint('done', flush=True)\n"
ATTEMPTS = 4  # emulated SVM hangs now and then


def sh(command, user=None, seconds=600):
    """Output and exit code of a shell's command, as somebody."""
    line = ["runuser", "-u", user, "--"] if user else []
    home = "/root" if user is None else f"/home/{user}" if user == USER else "/"
    done = subprocess.run([*line, "bash", "-c", command], check=False, timeout=seconds, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          cwd=home, env={**os.environ, "HOME": home})
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


def groups():
    """Of the machines: those below the service's own, by inode."""
    return {line.split()[1]: line.split()[0] for line in
            sh(f"find {GROUP} -mindepth 1 -type d -printf '%i %p\\n' 2>/dev/null")[0].splitlines()}


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


# --- the parts, in turn ---

def install(tap):
    """The commands of the operator's guide; the last one is the user's first job."""
    print("# " + sh("uname -sr; systemctl --version | head -1")[0].replace("\n", " "), flush=True)
    tap.line(until(lambda: os.path.exists("/dev/kvm"), 120), "udev has loaded KVM's module")
    sh(f"useradd -m {USER}")
    commands = [re.sub(r"\s+#.*", "", line).replace("ALICE", USER) for line in block("operator.md", "Installing it as a service")]
    submit = commands.pop()
    for command in commands:
        if command.startswith(DONE_BEFORE):
            print(f"# done before: {command}", flush=True)
            continue
        code = -1
        for _ in range(ATTEMPTS if command.startswith(SLOW) else 1):
            output, code = said(command)
            if code == 0 and ("doctor" not in command or "auto takes kvm" in output):
                break
            code = code or 1
        tap.line(code == 0, f"guide: {command}", output)
    tap.line(shown("airlockd.service", "ActiveState") == shown("airlockd.socket", "ActiveState") == "active",
             "service and sockets are active", sh("systemctl status --no-pager airlockd.service airlockd.socket")[0])
    listening = sh("grep -c 'event=listening' <(journalctl -u airlockd -o cat --no-pager)")[0].strip()
    tap.line(sh(f"curl -sS -o /dev/null -w '%{{http_code}}' {URL}/healthz")[0] == "200" and listening != "0",
             "it answers on 127.0.0.1:7380 and has said so in the journal", journal())
    pathlib.Path(f"/home/{USER}/hello.py").write_text("print('hello')\n", encoding="ascii")
    begin = time.monotonic()
    output, code = sh(submit.replace("--wait", "--wait --wall 300s --cpu 300s"), user=USER)
    print(f"# {time.monotonic() - begin:.1f} s", flush=True)
    tap.line(code == 0 and "hello" in output.splitlines(), f"guide, as a member of airlock-jobs: {submit}", output)
    pathlib.Path("/tmp/hello.py").write_text("print('hello')\n", encoding="ascii")
    output, code = sh(submit.replace("hello.py", "/tmp/hello.py"), user="nobody")
    tap.line(code != 0 and "may not connect" in output and "group airlock-jobs" in output, "who is no member can not connect to the socket", output)


def quick_start(tap):
    """The commands of docs/airlockd.md, without its first, which starts a daemon by hand."""
    lines = [re.sub(r"\s{2,}#.*", "", line) for line in block("airlockd.md", "Quick start")[1:]]
    patient = f"jq '.limits = {json.dumps(PATIENT)}' job.json > patient.json && mv patient.json job.json"
    at = next(number for number, line in enumerate(lines) if line.startswith("ID="))
    events = next(number for number, line in enumerate(lines) if line.endswith("/events"))
    lines[events] += " | while IFS= read -r line; do echo \"$(date +%s.%N) $line\"; done"
    script = "\n".join([*lines[:at], patient, *lines[at:events + 1], 'echo "ID $ID"; echo OUTPUT', *lines[events + 1:]])
    output, code = sh("mkdir -p quick && cd quick\n" + script)
    steps = [float(when) for when in re.findall(r'^(\S+) data: \{"encoding":"utf8","data":"step \d', output, re.M)]
    tap.line(code == 0 and len(steps) == 3 and steps[2] - steps[0] > 1, "quick start: its output comes live", output)
    tap.line(output.split("OUTPUT\n")[-1] == "42\n", "quick start: curl fetches the output file", output[-500:])
    name = re.search(r"^ID (\w+)$", output, re.M)
    if name:
        verdict(tap, "quick start", job(name.group(1)), "success", text="step 0\nstep 1\nstep 2\n")
    output, code = sh("cd quick && airlock submit --wait --wall 300s --cpu 300s --in data.csv --out results sum.py && cat results/sum.txt")
    tap.line(code == 0 and output.endswith("42\n"), "the same by airlock submit --wait, with its output file", output)


def verdicts(tap):
    verdict(tap, "JavaScript", ended(post("console.log(6 * 7)", "javascript")), "success", text="42\n")
    verdict(tap, "a program that does not end", ended(post(WAITS.format(seconds=600), wall_ms=20000)), "timeout", "wall", "ready\n")
    name = started(600)
    print("# cancel: " + sh(f"curl -sS -X DELETE -o /dev/null -w '%{{http_code}}' {URL}/v1/jobs/{name}")[0])
    verdict(tap, "DELETE of a job that runs", ended(name), "canceled", text="ready\n")


def reload(tap):
    good = CONFIG.read_text(encoding="utf-8")
    pid = shown("airlockd", "MainPID")
    narrow = {**json.loads(good), "default_quota": {"memory_bytes": 100 << 20}}
    CONFIG.write_text(json.dumps(narrow), encoding="utf-8")
    output, code = sh("systemctl reload airlockd")
    refused = lambda: "over-quota" in sh(f"curl -sS -H 'Content-Type: application/json' -d '{{\"language\":\"python\",\"code\":\"\"}}' "
                                         f"{URL}/v1/jobs")[0]
    tap.line(code == 0 and until(refused, 30) and shown("airlockd", "MainPID") == pid,
             "systemctl reload: the changed configuration counts, in the same process", output)
    CONFIG.write_text(json.dumps({**narrow, "pool": "many"}), encoding="utf-8")
    output, code = sh("systemctl reload airlockd; code=$?; journalctl -u airlockd -o cat -n 5 --no-pager; exit $code")
    tap.line(code != 0 and "pool" in output and refused() and shown("airlockd", "MainPID") == pid,
             "systemctl reload: a wrong one is refused by name, and the old one stays", output)
    CONFIG.write_text(good, encoding="utf-8")
    output, code = sh("systemctl reload airlockd")
    tap.line(code == 0, "systemctl reload: the first one again", output)
    until(lambda: not refused(), 30)


def killed(tap):
    name, pid = started(600), shown("airlockd", "MainPID")
    before = groups()
    old = sh(f"find {GROUP} -name cgroup.procs -exec cat {{}} +")[0].split()
    sh(f"kill -9 {pid}")
    tap.line(until(lambda: shown("airlockd", "MainPID") not in ("0", pid) and
                   shown("airlockd", "ActiveState") == "active", 240),
             "kill -9: systemd starts it again", sh("systemctl status --no-pager airlockd")[0])
    kept = sh(f"ps -o pid=,user=,args= -p {','.join(old)}")[0]
    same = sorted(path for path, inode in groups().items() if before.get(path) == inode)
    mounted = sh("grep airlock /proc/self/mountinfo")[0]
    tap.line(len(old) > 3 and before and not kept and not same and not mounted,
             f"kill -9: nothing is left of {len(old)} processes and {len(before)} control groups, and no mount",
             f"{kept}\n{same}\n{mounted}")
    doc = ended(name)
    tap.line((doc["state"], doc["verdict"]) == ("ended", "sandbox_failure"),
             "kill -9: the job that ran ends as sandbox_failure", json.dumps(doc))
    events = sh(f"curl -sSN --max-time 60 {URL}/v1/jobs/{name}/events")[0]
    tap.line(events.count("event: result\n") == 1 and events.count('"state":"ended"}') == 1,
             "kill -9: it ended once", events[-1500:])
    verdict(tap, "kill -9: the next job", ended(post("print(1)")), "success", text="1\n")


def stop(tap):
    name = started(20)
    begin = time.monotonic()
    output, code = sh("systemctl stop airlockd.service")
    print(f"# stop took {time.monotonic() - begin:.1f} s", flush=True)
    left = sh("ps -e -o pid,user,args | grep -E '[a]irlock-vmm|[u]sr/bin/airlockd'")[0]
    mounted = sh("grep airlock /proc/self/mountinfo")[0]
    group = os.path.exists(GROUP)
    tap.line(code == 0 and shown("airlockd.service", "Result") == "success", "systemctl stop drains, with success", output + journal()[-1500:])
    tap.line(not left and not mounted and not group, "systemctl stop: no process, mount or control group is left",
             f"{left}\n{mounted}\ncontrol group: {group}\n" + sh(f"find {GROUP} -type d")[0])
    slots = [path.name for path in pathlib.Path(STATE, "slots").iterdir() if path.name != "lock" and path.stat().st_size > 0]
    temporary = list(pathlib.Path(STATE, "tmp").iterdir())
    tap.line(not slots and not temporary, "systemctl stop: no slot and no temporary file is left", f"{slots} {temporary}")
    doc = job(name)
    tap.line(until(lambda: shown("airlockd.service", "ActiveState") == "active", 200),
             "the next connection starts it, by the socket", sh("systemctl status --no-pager airlockd")[0])
    verdict(tap, "systemctl stop: the job that ran", doc, "success", text="ready\ndone\n")


def restart(tap):
    name, pid = started(5), shown("airlockd", "MainPID")
    output, code = sh("systemctl restart airlockd")
    tap.line(code == 0 and shown("airlockd", "ActiveState") == "active" and shown("airlockd", "MainPID") != pid,
             "systemctl restart: another process, after what ran", output)
    verdict(tap, "systemctl restart: the job that ran", job(name), "success", text="ready\ndone\n")
    verdict(tap, "systemctl restart: the next job", ended(post("print(2)")), "success", text="2\n")


def words(tap):
    """What the operator looks at."""
    own = [line for line in journal().splitlines() if line.startswith("time=")]
    wrong = [line for line in own if not re.match(r"time=\S+Z level=(info|warning|error) event=[a-z-]+( [a-z_]+=(\"[^\"]*\"|[^\" ]*))*$", line)]
    ends = re.findall(r"event=job-ended job=(\w+)", journal())
    tap.line(own and not wrong, f"the journal has one line an event ({len(own)})", "\n".join(wrong))
    tap.line(len(ends) == len(set(ends)) and ends, f"the journal tells the end of each job once ({len(ends)})", "\n".join(ends))
    bad = [line for line in own if "level=error" in line or "machine-failed" in line]
    tap.line(not bad, "no error and no failed machine in the journal", "\n".join(bad))
    kernel = sh("journalctl -k -o cat --no-pager | grep -E 'audit:.*SECCOMP|segfault|BUG:|oops' | head")[0]
    tap.line(not kernel, "the kernel complains of nothing", kernel)
    output, _ = sh("systemd-analyze security --no-pager airlockd.service | tail -n 1")
    found = re.search(r"(\d+\.\d+)", output)
    tap.line(found is not None and float(found.group(1)) <= 4.0, "systemd-analyze security says at most 4.0", output)


PARTS = [install, quick_start, verdicts, reload, killed, stop, restart, words]


def main():
    tap = Tap()
    for part in PARTS:
        if sys.argv[1:] and part.__name__ not in sys.argv[1:]:
            continue
        try:
            part(tap)
        except Exception:  # a broken part is a failed one, not the end of the run
            tap.line(False, f"{part.__name__}: came to its end", traceback.format_exc())
        uptime = pathlib.Path("/proc/uptime").read_text(encoding="ascii").split()[0]
        print(f"# {part.__name__} ended {uptime} s after the start", flush=True)
    print(f"1..{tap.number}", flush=True)


if __name__ == "__main__":
    main()
