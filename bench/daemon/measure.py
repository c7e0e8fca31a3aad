#!/usr/bin/python3
"""What airlockd costs, measured on this host: one JSON object on stdout, progress on stderr.

bench/daemon/measure.py accept [--rate 200] [--seconds 20]   time until a job is accepted, beside running machines
bench/daemon/measure.py overhead [--jobs 40]                  what HTTP adds to a job of the pool
bench/daemon/measure.py idle [--connections 2000] [--slow 200] p99 of a request beside idle and dripping connections
bench/daemon/measure.py memory [--jobs 10000] [--run]         memory of the daemon over many jobs
bench/daemon/measure.py pressure [--jobs 200] [--leave 2048]   jobs while all but so many MiB of the host's memory are taken
bench/daemon/measure.py all                                   each with its defaults

The state is that of the end-to-end tests: $AIRLOCK_TEST_STATE, or build/state. memory cancels its jobs in the queue;
with --run each of them runs.
"""
import argparse
import json
import os
import pathlib
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import harness  # noqa: E402
from cases_pool import PATIENT as PATIENT_WORDS  # noqa: E402
from cases_pool import Pool  # noqa: E402
from daemon import WAITS, Daemon, job  # noqa: E402

WIDE = {"queue": {"jobs_max": 100000}, "default_quota": {"concurrent": 64, "queued": 100000, "rate_per_minute": 0}}


def say(text):
    print(f"   bench: {text}", file=sys.stderr, flush=True)


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def summary(seconds):
    return {"n": len(seconds), "p50_ms": round(quantile(seconds, 0.5) * 1e3, 3),
            "p90_ms": round(quantile(seconds, 0.9) * 1e3, 3),
            "p99_ms": round(quantile(seconds, 0.99) * 1e3, 3), "max_ms": round(max(seconds) * 1e3, 3)}


class Wire:
    """One kept connection and requests as bytes: what is measured is the daemon and not a library."""

    def __init__(self, d):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(str(d.socket))

    @staticmethod
    def request(method, path, body=b""):
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + b"\r\n" + body

    def ask(self, raw):
        """(seconds, status, body)."""
        begun = time.perf_counter()
        self.sock.sendall(raw)
        data = b""
        while b"\r\n\r\n" not in data:
            piece = self.sock.recv(65536)
            if not piece:
                raise OSError("the daemon closed the connection")
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        while len(body) < int(fields.get(b"content-length", b"0")):
            body += self.sock.recv(65536)
        return time.perf_counter() - begun, int(head.split()[1]), body


def cancel_all(d):
    wire = Wire(d)
    while True:
        left = [j for state in ("queued", "starting", "running")
                for j in d.ask("GET", f"/v1/jobs?limit=200&state={state}").doc["jobs"]]
        if not left:
            return
        for j in left:
            wire.ask(Wire.request("DELETE", f"/v1/jobs/{j['id']}"))
        time.sleep(0.1)


def accept(t, options):
    with Daemon(t, capacity={"machines": 2}, **WIDE) as d:
        for name in [d.accepted(WAITS.replace("50", "55")) for _ in range(2)]:
            d.await_output(name)
        raw = Wire.request("POST", "/v1/jobs", json.dumps(job("print(1)\n")).encode())
        wire = Wire(d)
        seconds, late = [], 0
        begun = time.perf_counter()
        for n in range(options.rate * options.seconds):
            wait = begun + n / options.rate - time.perf_counter()
            if wait > 0:
                time.sleep(wait)
            else:
                late += wait < -0.05
            took, status, body = wire.ask(raw)
            if status != 202:
                raise SystemExit(f"job {n} was answered with {status}: {body[:300]!r}")
            seconds.append(took)
        rate = len(seconds) / (time.perf_counter() - begun)
        cancel_all(d)
        return {**summary(seconds), "rate_per_s": round(rate, 1), "late_by_50_ms": late}


def beside(took, result):
    """What took longer than the supervisor counts, from the job's submission to the end of its cleanup."""
    return took - max((v or 0 for v in result["phases"].values()), default=0) / 1e9


def overhead(t, options):
    """What a job of the pool takes longer by HTTP than by the library that owns the pool."""
    there, here = by_http(t, options), by_library(t, options)
    return {"by_http": there, "by_library": here, "p50_ms": round(there["beside"]["p50_ms"] - here["beside"]["p50_ms"], 3)}


def by_library(t, options):
    pool = Pool(t, 2)
    program = t.write("hello.py", "print(1)\n")
    extra, whole = [], []
    pool.fill(2, *PATIENT_WORDS)
    for n in range(options.jobs + 5):
        pool.ask("wait", 120)
        answer = pool.ask("job", *PATIENT_WORDS, program)
        if answer["result"]["verdict"] != "success":
            raise SystemExit(f"job {n} of the pool came to {answer['result']}")
        if n >= 5 and answer["hit"]:
            whole.append(answer["took_ns"] / 1e9)
            extra.append(beside(whole[-1], answer["result"]))
    pool.ask("free")
    if not extra:
        raise SystemExit("no job had a machine of the pool")
    return {"beside": summary(extra), "whole": summary(whole)}


def by_http(t, options):
    with Daemon(t, pool=2, **WIDE) as d:
        raw = Wire.request("POST", "/v1/jobs?wait=60", json.dumps(job("print(1)\n")).encode())
        wire = Wire(d)
        extra, whole, pooled = [], [], 0
        for n in range(options.jobs + 5):
            took, status, body = wire.ask(raw)
            result = json.loads(body)["result"] if status == 200 else None
            if result is None or result["verdict"] != "success":
                raise SystemExit(f"job {n} was answered with {status}: {body[:300]!r}")
            if n >= 5 and result["machine"]["pooled"]:
                pooled += 1
                whole.append(took)
                extra.append(beside(took, result))
            time.sleep(0.5)  # the pool makes another
        if not extra:
            raise SystemExit("no job had a machine of the pool")
        return {"beside": summary(extra), "whole": summary(whole), "pooled": pooled}


def drip(path, stop, n):
    """n connections that send their request a byte every other second, made anew when they are closed."""
    socks = [None] * n
    at = [0] * n
    text = b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"x" * 4000
    while not stop.wait(2):
        for i in range(n):
            try:
                if socks[i] is None:
                    socks[i] = socket.socket(socket.AF_UNIX)
                    socks[i].settimeout(1)
                    socks[i].connect(path)
                    at[i] = 0
                socks[i].send(text[at[i]:at[i] + 1])
                at[i] += 1
            except OSError:
                socks[i].close()
                socks[i] = None
    for sock in filter(None, socks):
        sock.close()


def idle(t, options):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    with Daemon(t, connections=4096, deadlines={"idle_seconds": 3600}, **WIDE) as d:
        raw = Wire.request("GET", "/v1/jobs?limit=1")

        def measure():
            wire = Wire(d)
            seconds = []
            for _ in range(2000):
                seconds.append(wire.ask(raw)[0])
                time.sleep(0.002)
            return summary(seconds)

        alone = measure()
        idlers = []
        for _ in range(options.connections):
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(10)
            sock.connect(str(d.socket))
            idlers.append(sock)
        stop = threading.Event()
        slow = threading.Thread(target=drip, args=(str(d.socket), stop, options.slow))
        slow.start()
        time.sleep(3)
        beside = measure()
        count = d.metrics()["airlock_http_connections"]
        stop.set()
        slow.join()
        for sock in idlers:
            sock.close()
        return {"alone": alone, "beside": beside, "connections": count,
                "p99_ratio": round(beside["p99_ms"] / alone["p99_ms"], 2)}


def memory_of(pid):
    """VmRSS in KiB of the daemon and of the launcher, its child."""
    found = {}
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    for name, p in [("daemon", pid), *(("launcher", c) for c in children[:1])]:
        text = pathlib.Path(f"/proc/{p}/status").read_text(encoding="ascii")
        found[name] = next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS"))
    return found


def memory(t, options):
    with Daemon(t, capacity={"machines": 2}, **WIDE) as d:
        if not options.run:
            for name in [d.accepted(WAITS.replace("50", "58")) for _ in range(2)]:
                d.await_output(name)
        raw = Wire.request("POST", "/v1/jobs", json.dumps(job("print('x' * 1000)\n")).encode())
        wire = Wire(d)
        points = []
        step = max(1, options.jobs // 20)
        waiting = []
        for n in range(options.jobs + 1):
            if n % step == 0:
                points.append({"jobs": n, **memory_of(d.child.pid)})
                say(f"{points[-1]}")
            _, status, body = wire.ask(raw)
            if status != 202:
                raise SystemExit(f"job {n} was answered with {status}: {body[:300]!r}")
            name = json.loads(body)["id"]
            if not options.run:
                wire.ask(Wire.request("DELETE", f"/v1/jobs/{name}"))
            else:
                waiting.append(name)
                if len(waiting) > 8:
                    d.wait(waiting.pop(0))
        cancel_all(d)
        points.append({"jobs": options.jobs, "at_rest": True, **memory_of(d.child.pid)})
        return {"points": points, "growth_kib": points[-1]["daemon"] - points[len(points) // 4]["daemon"]}


def meminfo(name):
    text = pathlib.Path("/proc/meminfo").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(name + ":"))


def oom_kills():
    text = pathlib.Path("/proc/vmstat").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("oom_kill "))


HOG = """
import mmap, sys
m = mmap.mmap(-1, int(sys.argv[1]))
for at in range(0, len(m), 4096): m[at] = 1
print("held", flush=True)
sys.stdin.read()
"""


def pressure(t, options):
    """Jobs by the hundred while something else has most of the host's memory: some touch all of theirs, some too much."""
    kinds = [("success", "print(1)\n"), ("success", "b = bytearray(180 << 20)\nprint(len(b))\n"),
             ("oom", "k = []\nwhile True: k.append(bytearray(1 << 20))\n"), ("user_exception", "raise SystemExit(3)\n")]
    free = meminfo("MemAvailable")
    before = oom_kills()
    hog = subprocess.Popen([sys.executable, "-c", HOG, str((free - options.leave * 1024) * 1024)], text=True,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        hog.stdout.readline()
        left = [meminfo("MemAvailable")]
        with Daemon(t, **WIDE) as d:
            begun = time.perf_counter()
            wants = {d.accepted(kinds[n % 4][1]): kinds[n % 4][0] for n in range(options.jobs)}
            verdicts, wrong, most = {}, [], 0
            waiting = dict(wants)
            while waiting:
                for name in list(waiting)[:20]:
                    doc = d.get(name)
                    if doc["state"] == "ended":
                        want = waiting.pop(name)
                        key = f"{want}: {doc['verdict']}" + (f" ({doc['reason']})" if doc["verdict"] == "oom" else "")
                        verdicts[key] = verdicts.get(key, 0) + 1
                        if doc["verdict"] != want:
                            wrong.append(f"{name}: {doc['verdict']} ({doc['reason']}), not {want}")
                left.append(meminfo("MemAvailable"))
                most = max(most, int(d.metrics()["airlock_jobs_running"]))
                time.sleep(0.2)
            seconds = time.perf_counter() - begun
    finally:
        hog.communicate()
    return {"jobs": options.jobs, "seconds": round(seconds, 1), "memory_free_kib": free, "left_kib": left[0],
            "least_kib": min(left), "most_running": most, "verdicts": verdicts, "wrong": wrong,
            "oom_kills_of_the_host": oom_kills() - before}


WHAT = {"accept": accept, "overhead": overhead, "idle": idle, "memory": memory, "pressure": pressure}


def main():
    parser = argparse.ArgumentParser(description="Measures airlockd.")
    parser.add_argument("what", choices=[*WHAT, "all"])
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--connections", type=int, default=2000)
    parser.add_argument("--slow", type=int, default=200)
    parser.add_argument("--leave", type=int, default=2048)
    parser.add_argument("--run", action="store_true")
    options = parser.parse_args()
    given = options.jobs
    report = {"cpus": os.cpu_count(), "kernel": os.uname().release, "load": os.getloadavg()[0]}
    for name in WHAT if options.what == "all" else [options.what]:
        say(f"{name} ...")
        options.jobs = given or {"overhead": 40, "memory": 10000, "pressure": 200}.get(name, 0)
        harness.WORK.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=harness.WORK) as directory:
            report[name] = WHAT[name](harness.Context(directory), options)
        say(json.dumps(report[name])[:300])
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
