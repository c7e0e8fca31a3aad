#!/usr/bin/python3
"""Good and hostile jobs through airlockd while monitors, supervisors and the daemon are killed at random.

bench/daemon/soak.py [--minutes 30] [-j 4] [--machines 2] [--seed N] [--every SECONDS]

A job is right if it has the verdict of its kind; `sandbox_failure` is right too for what ran when something was
killed, and nothing else is. None may be lost, end twice or be told twice, and nothing may be left on the host.
Prints a report in Markdown; exit code 0 if it is clean.
"""
import argparse
import calendar
import collections
import os
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import harness  # noqa: E402
import soak as plain  # noqa: E402
from daemon import Daemon, job  # noqa: E402

UNITS = {"--wall": "wall_ms", "--cpu": "cpu_ms", "--memory": "memory_bytes", "--disk": "disk_bytes",
         "--stdout": "stdout_bytes"}
KINDS = [kind for kind in plain.GOOD * 2 + plain.HOSTILE if kind.guest is None]


def value_of(text):
    if text.endswith("s"):
        return int(text[:-1]) * 1000
    return int(text[:-1]) << {"K": 10, "M": 20}[text[-1]]


def request_of(kind):
    options = dict(zip(kind.options[::2], kind.options[1::2]))
    more = {"stdin": kind.stdin.decode()} if kind.stdin is not None else {}
    return job(kind.program, limits={UNITS[k]: value_of(v) for k, v in options.items()}, **more)


class Soak:
    def __init__(self, d, options):
        self.d, self.options = d, options
        self.random = random.Random(options.seed)
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.accepted = {}  # id -> (kind, when)
        self.kills = []     # (when, what)
        self.refused = collections.Counter()
        self.faults = []

    def submit_some(self, number):
        own = random.Random(self.options.seed * 1000 + number)
        while not self.over.is_set():
            kind = own.choice(KINDS)
            key = f"soak-{number}-{own.getrandbits(64):x}"
            name = self.submit(kind, key)
            if name is not None:
                self.await_end(name)

    def submit(self, kind, key):
        """Until it is answered: the key makes one job of all tries."""
        while not self.over.is_set():
            try:
                answer = self.d.submit(request_of(kind), Idempotency_Key=key)
            except OSError:
                time.sleep(0.2)
                continue
            if answer.status in (200, 202):
                with self.lock:
                    self.accepted[answer.doc["id"]] = (kind, time.time())
                return answer.doc["id"]
            self.refused[answer.status] += 1
            if answer.status not in (429, 503, 507):
                self.faults.append(f"'{kind.name}' was refused: {answer}")
            time.sleep(0.5)
        return None

    def await_end(self, name):
        while not self.over.is_set():
            try:
                answer = self.d.ask("GET", f"/v1/jobs/{name}?wait=20")
                if answer.status == 200 and answer.doc["state"] == "ended":
                    return
            except OSError:
                pass
            time.sleep(0.2)

    def victims(self):
        """Processes of this state directory: monitors by their uid, supervisors by their name."""
        tag = harness.tag_of_state(self.d.state)
        found = collections.defaultdict(list)
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                uid = os.stat(f"/proc/{entry}").st_uid
                name = pathlib.Path(f"/proc/{entry}/comm").read_text(encoding="utf-8").strip()
                if uid in plain.MACHINE_UIDS and plain.tag_of(entry) == tag:
                    found["monitor"].append(int(entry))
                elif name == "airlock-sup" and self.descends(int(entry)):
                    found["supervisor"].append(int(entry))
            except (OSError, ValueError):
                continue
        return found

    def descends(self, pid):
        for _ in range(6):
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
            pid = int(stat.rpartition(")")[2].split()[1])
            if pid == self.d.child.pid:
                return True
            if pid <= 1:
                return False
        return False

    def kill_some(self):
        while not self.over.wait(self.random.uniform(0.5, 1.5) * self.options.every):
            what = self.random.choices(["monitor", "supervisor", "daemon"], [3, 3, 1])[0]
            if what == "daemon":
                with self.lock:
                    self.kills.append((time.time(), what))
                self.d.kill()
                self.d.start()
                with self.lock:
                    self.kills.append((time.time(), "(its start)"))
                continue
            pids = self.victims()[what]
            if pids:
                with self.lock:
                    self.kills.append((time.time(), what))
                try:
                    os.kill(self.random.choice(pids), signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def judge(self):
        """Every accepted job, after all has come to rest."""
        verdicts = collections.Counter()
        for name, (kind, when) in self.accepted.items():
            doc = self.d.wait(name, seconds=300)
            verdicts[doc["verdict"]] += 1
            right = kind.verdict if isinstance(kind.verdict, tuple) else (kind.verdict,)
            ended = time.time() if doc["ended"] is None else stamp(doc["ended"])
            hit = any(when - 1 <= at <= ended + 1 for at, _ in self.kills)
            if doc["verdict"] not in right and not (doc["verdict"] == "sandbox_failure" and hit):
                self.faults.append(f"{name} '{kind.name}': {doc['verdict']} ({doc['reason']}), not {right}")
            results = [k for _, k, _ in self.d.events(name)].count("result")
            if results != 1:
                self.faults.append(f"{name}: {results} results among its events")
            if kind.stdout is not None and doc["verdict"] == "success" and \
                    doc["result"]["stdout"]["data"] != kind.stdout.decode():
                self.faults.append(f"{name} '{kind.name}': wrong output")
        return verdicts

    def look_for_leaks(self):
        end = time.monotonic() + 20
        while True:
            left = [f"running: {u}" for u in harness.Context(self.d.t.dir).users_of(self.d.state)]
            left += [f"control group: {g}" for g in harness.control_groups(self.d.state)]
            if not left or time.monotonic() > end:
                self.faults += left
                return
            time.sleep(0.2)


def stamp(text):
    head, _, ms = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(head, "%Y-%m-%dT%H:%M:%S")) + float("0." + (ms or "0"))


def report(s, verdicts, seconds, memory):
    kills = collections.Counter(what for _, what in s.kills if what[0] != "(")
    print(f"# Soak of airlockd, {seconds / 60:.1f} minutes\n")
    print(f"seed {s.options.seed}, {s.options.j} clients, {s.options.machines} machines, kernel "
          f"{os.uname().release}, {os.cpu_count()} CPUs\n")
    print("| | |\n|---|---|")
    print(f"| jobs accepted | {len(s.accepted)} |")
    print(f"| ended | {sum(verdicts.values())}: " +
          ", ".join(f"{n} {v}" for v, n in sorted(verdicts.items())) + " |")
    print(f"| refused, by status | {dict(s.refused) or 'none'} |")
    print(f"| killed with -9 | {dict(kills) or 'nothing'} |")
    print(f"| memory of the daemon at the end | {memory} KiB |")
    print(f"| faults | {len(s.faults)} |\n")
    for fault in s.faults[:50]:
        print(f"- {fault}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description="Soaks airlockd.")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("-j", type=int, default=4)
    parser.add_argument("--machines", type=int, default=2)
    parser.add_argument("--every", type=float, default=20, help="seconds between two kills")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    harness.WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=harness.WORK) as directory:
        t = harness.Context(directory)
        with Daemon(t, capacity={"machines": options.machines}, retention={"bytes": 0, "age_hours": 0}) as d:
            s = Soak(d, options)
            threads = [threading.Thread(target=s.submit_some, args=(n,)) for n in range(options.j)]
            killer = threading.Thread(target=s.kill_some)
            begun = time.monotonic()
            for thread in [*threads, killer]:
                thread.start()
            while time.monotonic() - begun < options.minutes * 60 and killer.is_alive():
                time.sleep(1)
            if not killer.is_alive():
                s.faults.append(f"the daemon did not start again: {d.said()}")
            s.over.set()
            for thread in [*threads, killer]:
                thread.join()
            verdicts = s.judge()
            status = pathlib.Path(f"/proc/{d.child.pid}/status").read_text(encoding="ascii")
            memory = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
        s.look_for_leaks()
        report(s, verdicts, time.monotonic() - begun, memory)
    sys.exit(1 if s.faults or not s.accepted else 0)


if __name__ == "__main__":
    main()
