"""airlockd: jobs over HTTP, from the quick start to kill -9. docs/airlockd.md is what they hold it to."""
import concurrent.futures
import http.client
import json
import os
import pwd
import signal
import subprocess
import tarfile
import time

import harness
from daemon import AIRLOCKD, USER, WAITS, Daemon, form, job
from evil import evil_state
from harness import case

SUM = """
import csv
total = sum(int(r["n"]) for r in csv.DictReader(open("/in/data.csv")))
for i in range(3):
    print("step", i, flush=True)
    import time; time.sleep(0.4)
open("/out/sum.txt", "w").write(f"{total}\\n")
"""
DATA = b"name,n\na,20\nb,22\n"


def jobs_of(d, **more):
    return [j for j in d.ask("GET", "/v1/jobs?limit=200", **more).doc["jobs"]]


@case("the quick start: a job with a file, its output live, its output file")
def quick_start(t):
    with Daemon(t, tcp=True) as d:
        body, head = form(("job", None, json.dumps(job(SUM)).encode()), ("file", "data.csv", DATA))
        answer = d.ask("POST", "/v1/jobs", body, head)
        t.equal(answer.status, 202, f"status of the form ({answer})")
        name = answer.doc["id"]
        t.equal(answer.headers["Location"], f"/v1/jobs/{name}", "Location")
        moments = []
        numbers = []
        text = ""
        for number, kind, data in d.events(name):
            numbers.append(number)
            if kind == "stdout":
                text += data["data"]
                moments.append(time.monotonic())
            last = kind, data
        t.equal(text, "step 0\nstep 1\nstep 2\n", "stdout of the events")
        t.true(moments[-1] - moments[0] > 0.4, f"output did not come as it was written: {moments}")
        t.equal(numbers, list(range(1, len(numbers) + 1)), "numbers of the events")
        t.equal((last[0], last[1]["verdict"]), ("result", "success"), "the last event")
        t.equal(last[1]["result"]["stdout"]["data"], text, "stdout of the result")
        t.equal(last[1]["result"]["cleanup"]["verified"], True, "cleanup")
        t.equal(d.output(name, "sum.txt").body, b"42\n", "the output file")
        t.equal([n for n, _, _ in d.events(name, after=3)], numbers[3:], "events after the third")
        t.equal(d.ask("GET", f"/v1/jobs/{name}/stdout").body, text.encode(), "/stdout")
        t.equal(d.ask("GET", f"/v1/jobs/{name}/record").status, 200, "status of the record")
        connection = http.client.HTTPConnection("127.0.0.1", d.port, timeout=30)
        connection.request("GET", f"/v1/jobs/{name}")
        t.equal(json.loads(connection.getresponse().read())["verdict"], "success", "over TCP")
        connection.close()
        t.equal(d.ask("DELETE", f"/v1/jobs/{name}/data").status, 204, "status of the removal")
        t.equal((d.get(name)["purged"], d.output(name, "sum.txt").status), (True, 404), "after it")


@case("airlock submit, watch and result do as airlock run")
def commands(t):
    t.write("data.csv", DATA)
    script = t.write("sum.py", SUM)
    with Daemon(t) as d:
        wide = ["--wall", "60s", "--cpu", "60s"]
        p = d.airlock("submit", "--wait", *wide, "--in", "data.csv", "--out", "out", script)
        t.equal((p.returncode, p.stdout), (0, b"step 0\nstep 1\nstep 2\n"), f"submit --wait ({p})")
        t.equal((t.path("out") / "sum.txt").read_bytes(), b"42\n", "what was fetched")
        p = d.airlock("submit", *wide, "--stdin", "-", t.write("cat.py", "print(input())\nraise SystemExit(7)\n"),
                      stdin=b"typed\n")
        name = p.stdout.decode().strip()
        p = d.airlock("watch", name)
        t.equal((p.returncode, p.stdout), (1, b"typed\n"), f"watch ({p})")
        p = d.airlock("result", "--json", name)
        result = harness.Result(p.returncode, p.stdout, p.stderr)
        t.expect(result, "user_exception", exit_code=7, stdout=b"typed\n")
        t.equal(len(d.airlock("jobs").stdout.splitlines()), 2, "lines of airlock jobs")
        p = d.airlock("submit", t.write("mod.mjs", "import fs from 'fs';\nconsole.log(1);\n"), *wide, "--wait")
        t.equal(p.returncode, 0, f"options after the script are arguments ({p})")
        t.equal(d.get(p.stdout.decode().strip())["state"] in ("queued", "starting", "running", "ended"), True,
                "so it did not wait")
        p = d.airlock("submit", "--wait", *wide, t.path("mod.mjs"))
        t.equal((p.returncode, p.stdout), (0, b"1\n"), f"a module ({p})")
        with tarfile.open(t.path("data.tar.gz"), "w:gz") as packed:
            packed.add(t.path("data.csv"), "data.csv")
        p = d.airlock("submit", "--wait", *wide, "--in-archive", "data.tar.gz", script)
        t.equal((p.returncode, p.stdout), (0, b"step 0\nstep 1\nstep 2\n"), f"an archive ({p})")


@case("a job is canceled in whatever state it is, and its place is free again")
def cancel(t):
    with Daemon(t, capacity={"machines": 1}) as d:
        running = d.accepted(WAITS)
        d.await_output(running)
        queued = d.accepted("print(1)\n")
        t.equal(d.get(queued)["state"], "queued", "state of the second")
        t.equal(d.ask("DELETE", f"/v1/jobs/{queued}").status, 200, "status of a cancel in the queue")
        t.equal(d.get(queued)["verdict"], "canceled", "verdict of it")
        t.equal(d.ask("DELETE", f"/v1/jobs/{running}").status, 202, "status of a cancel amid the run")
        doc = d.ended(running, "canceled", seconds=20)
        t.equal(doc["result"]["cleanup"]["verified"], True, "cleanup of the canceled")
        t.equal(d.ask("DELETE", f"/v1/jobs/{running}").status, 409, "status of a second cancel")
        starting = d.accepted(WAITS)
        t.true(d.ask("DELETE", f"/v1/jobs/{starting}").status in (200, 202), "cancel at the start")
        d.ended(starting, "canceled", seconds=30)
        d.ended(d.accepted("print(1)\n"), "success")
        t.equal(d.metrics()["airlock_jobs_running"], 0, "jobs that run at the end")


@case("one key is one job, also after a restart; another body is refused")
def idempotency(t):
    with Daemon(t) as d:
        first = d.submit(job("print(1)\n"), Idempotency_Key="k")
        again = d.submit(job("print(1)\n"), Idempotency_Key="k")
        t.equal((first.status, again.status), (202, 200), "statuses")
        t.equal(again.doc["id"], first.doc["id"], "id under the same key")
        other = d.submit(job("print(2)\n"), Idempotency_Key="k")
        t.equal((other.status, other.doc["type"]), (422, "urn:airlock:problem:key-reused"), "another body")
        d.ended(first.doc["id"], "success")
        d.kill()
        d.start()
        again = d.submit(job("print(1)\n"), Idempotency_Key="k")
        t.equal((again.status, again.doc["id"]), (200, first.doc["id"]), "after a restart")
        t.equal(len(jobs_of(d)), 1, "jobs there are")


@case("tenants do not see each other, and a revoked token is refused at once")
def tenants(t):
    with Daemon(t, require_tokens=True) as d:
        a, b = d.new_token("a"), d.new_token("b")
        t.equal(d.submit(job("print(1)\n")).status, 401, "status without a token")
        t.equal(d.submit(job("print(1)\n"), token=a[:-1] + ("x" if a[-1] != "x" else "y")).status, 401,
                "status with a wrong token")
        name = d.accepted("open('/out/f', 'w').write('secret')\n", token=a)
        d.ended(name, "success", token=a)
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/events"), ("GET", "/stdout"),
                             ("GET", "/outputs/f"), ("GET", "/record"), ("DELETE", "/data")):
            answer = d.ask(method, f"/v1/jobs/{name}{path}", token=b)
            none = d.ask(method, f"/v1/jobs/{'0' * 32}{path}", token=b)
            t.equal(answer.status, 404, f"{method} {path} of another tenant's job")
            t.equal(answer.body, none.body, f"{method} {path}: told from a job that is not there")
        t.equal(jobs_of(d, token=b), [], "jobs of b")
        t.equal([j["id"] for j in jobs_of(d, token=a)], [name], "jobs of a")
        revoked = subprocess.run([str(harness.AIRLOCK), "token", "revoke", "--state", str(d.state),
                                  a.split("_")[1]], capture_output=True, check=False)
        t.equal(revoked.returncode, 0, f"exit code of revoke ({revoked.stderr})")
        end = time.monotonic() + 2
        while d.ask("GET", "/v1/jobs?limit=1", token=a).status != 401:
            t.true(time.monotonic() < end, "a revoked token is still taken after 2 s")
            time.sleep(0.05)


@case("quotas refuse what is over them, and name it")
def quotas(t):
    quota = {"memory_bytes": 128 << 20, "queued": 2, "rate_per_minute": 60, "rate_burst": 5}
    with Daemon(t, capacity={"machines": 1}, default_quota=quota) as d:
        answer = d.submit(job("pass\n", limits={"memory_bytes": 256 << 20}))
        t.equal((answer.status, answer.doc.get("field")), (403, "limits.memory_bytes"), f"memory ({answer})")
        small = {"memory_bytes": 128 << 20}
        d.await_output(d.accepted(WAITS, limits=small))
        for _ in range(2):
            d.accepted("pass\n", limits=small)
        answer = d.submit(job("pass\n", limits=small))
        t.equal((answer.status, answer.doc["type"]), (429, "urn:airlock:problem:tenant-queue-full"),
                f"a third that waits ({answer})")
        t.true(int(answer.headers["Retry-After"]) >= 1, "Retry-After")
        for j in jobs_of(d):
            d.ask("DELETE", f"/v1/jobs/{j['id']}")
        types = set()
        for _ in range(8):
            answer = d.submit(job("pass\n", limits=small))
            if answer.status == 429:
                types.add(answer.doc["type"])
            else:
                d.ask("DELETE", f"/v1/jobs/{answer.doc['id']}")
        t.true("urn:airlock:problem:rate-limited" in types, f"the rate is not held: {types}")


@case("what cannot start by its deadline is refused now, or never starts")
def deadlines(t):
    with Daemon(t, capacity={"machines": 1}) as d:
        running = d.accepted(WAITS)
        d.await_output(running)
        answer = d.submit(job("print(1)\n", deadline_ms=200))
        t.equal((answer.status, answer.doc["type"]), (422, "urn:airlock:problem:deadline"), f"{answer}")
        t.true(int(answer.headers["Retry-After"]) >= 1, "Retry-After")
        d.ask("DELETE", f"/v1/jobs/{running}")
        d.ended(running, "canceled", seconds=20)
        d.ended(d.accepted("print(1)\n", deadline_ms=60000), "success")


@case("ten times what fits at once: exactly that runs, the queue is full, the rest is refused")
def bounds(t):
    with Daemon(t, capacity={"machines": 2}, queue={"jobs_max": 4},
                default_quota={"concurrent": 64, "queued": 64}) as d:
        body = job(WAITS)
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda _: d.submit(body), range(20)))
        taken = [a.doc["id"] for a in answers if a.status == 202]
        refused = [a for a in answers if a.status != 202]
        t.equal({a.doc["type"] for a in refused}, {"urn:airlock:problem:queue-full"}, "why others were refused")
        t.true(all(a.status == 503 and int(a.headers["Retry-After"]) >= 1 for a in refused), "503, Retry-After")
        t.equal(len(taken), 6, "jobs taken: two that run and four that wait")
        end = time.monotonic() + 60
        while sorted(j["state"] for j in jobs_of(d)) != ["queued"] * 4 + ["running"] * 2:
            t.true(time.monotonic() < end, f"states are {[j['state'] for j in jobs_of(d)]}")
            time.sleep(0.1)
        for name in reversed(taken):
            d.ask("DELETE", f"/v1/jobs/{name}")
        for name in taken:
            d.ended(name, "canceled", seconds=30)
        d.ended(d.accepted("print(1)\n"), "success")
        m = d.metrics()
        t.equal((m["airlock_queue_length"], m["airlock_jobs_running"]), (0, 0), "counters at the end")
        t.equal([v for k, v in m.items() if k.startswith("airlock_capacity_used")],
                [0] * sum(k.startswith("airlock_capacity_used") for k in m), "capacity in use at the end")


@case("killed amid its work, it ends every accepted job exactly once and leaves nothing")
def killed(t):
    d = Daemon(t, capacity={"machines": 1})
    with d:
        running = d.accepted(WAITS, limits={"wall_ms": 123000})
        d.await_output(running)
        queued = [d.accepted(f"print({n})\n") for n in range(3)]
        done = d.ask("DELETE", f"/v1/jobs/{queued[0]}")
        t.equal(done.status, 200, "a cancel before the kill")
        d.kill()
        t.wait_gone(d.state, 10)
        end = time.monotonic() + 5
        while harness.control_groups(d.state):
            t.true(time.monotonic() < end, f"control groups are left: {harness.control_groups(d.state)}")
            time.sleep(0.1)
        d.start()
        doc = d.ended(running, "sandbox_failure", seconds=20)
        t.equal(doc["result"]["limits"]["wall_ms"], 123000, "its limit, as it was asked for")
        t.equal(doc["result"]["stdout"]["data"].encode(), d.ask("GET", f"/v1/jobs/{running}/stdout").body,
                "stdout of its result, and of GET")
        t.true(doc["result"]["stdout"]["bytes"] > 0, "it wrote something")
        t.equal(d.get(queued[0])["verdict"], "canceled", "verdict of the one canceled before")
        for n, name in enumerate(queued[1:], 1):
            doc = d.ended(name, "success")
            t.equal(doc["result"]["stdout"]["data"], f"{n}\n", "its output, once")
            kinds = [kind for _, kind, _ in d.events(name)]
            t.equal((kinds.count("result"), kinds[-1]), (1, "result"), "results among the events")
        t.equal(sorted(j["id"] for j in jobs_of(d)), sorted([running, *queued]), "jobs there are")
    t.wait_gone(d.state, 5)


@case("a machine that fails before the program starts is replaced, and the log says why")
def replaced(t):
    with Daemon(t, state=evil_state(t, "panic"), retries=1) as d:
        doc = d.ended(d.accepted("pass\n", engine="tcg"), "sandbox_failure", seconds=120)
        t.equal((doc["reason"], doc["attempts"]), ("boot", 2), "reason and attempts")
        told = [line for line in d.log.read_text(encoding="utf-8").splitlines() if "event=machine-failed" in line]
        t.equal(len(told), 1, "machines that were replaced")
        t.true("attempt=1" in told[0] and "in phase 'boot'" in told[0], f"no reason in {told}")


@case("SIGTERM lets what runs end, refuses what is new and keeps what waits")
def drain(t):
    with Daemon(t, capacity={"machines": 1}, drain_seconds=30) as d:
        running = d.accepted("import time\nprint('ready', flush=True)\ntime.sleep(3)\nprint('done')\n")
        d.await_output(running)
        queued = d.accepted("print(2)\n")
        watcher = d.events(running)
        next(watcher)
        d.child.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        try:
            t.equal(d.submit(job("print(3)\n")).status, 503, "status of a job amid the drain")
        except OSError:
            pass  # nobody listens any more: as good a refusal
        t.equal([data["verdict"] for _, kind, data in watcher if kind == "result"], ["success"],
                "the result that a reader gets amid the drain")
        t.equal(d.child.wait(40), 0, f"exit code of the drain ({d.said()})")
        t.wait_gone(d.state, 5)
        d.start()
        t.equal(d.get(running)["verdict"], "success", "verdict of what ran")
        d.ended(queued, "success")


@case("the suite through it is judged as without it")
def suite(t):
    with Daemon(t, capacity={"machines": 2}) as d:
        p = d.airlock("suite", "--url", d.url, "--filter", "^exit/", "--language", "python", "--quick", "-j", "2",
                      *(["--engine", harness.ENGINE] if harness.ENGINE else []), timeout=300)
        t.equal(p.returncode, 0, f"exit code of the suite ({p.stdout.decode()[-900:]} {p.stderr.decode()[-300:]})")
        t.true(len(jobs_of(d)) > 2, "its programs did not go through the daemon")


@case("a second one on the same state refuses")
def second(t):
    with Daemon(t) as d:
        other = Daemon(t, state=d.state)
        other.socket = t.path("socket2")
        other.config["listen"] = [f"unix:{other.socket}"]
        p = subprocess.run(other.command(), cwd=t.dir, env=harness.environment(), capture_output=True, timeout=30,
                           check=False)
        t.true(p.returncode != 0 and str(d.state) in p.stderr.decode(), f"the second one: {p}")
        d.ended(d.accepted("print(1)\n"), "success")


@case("SIGHUP takes the new configuration, or keeps all of the old")
def reload_config(t):
    with Daemon(t, default_quota={"memory_bytes": 512 << 20}) as d:
        wide = {"memory_bytes": 300 << 20}
        t.equal(d.submit(job("pass\n", limits=wide)).status, 202, "before")

        def reload(path_text):
            t.path("airlockd.json").write_text(path_text, encoding="utf-8")
            d.child.send_signal(signal.SIGHUP)
            time.sleep(0.5)
            t.equal(d.child.poll(), None, f"airlockd after SIGHUP ({d.said()})")

        reload(json.dumps({**d.config, "default_quota": {"memory_bytes": 100 << 20}}))
        t.equal(d.submit(job("pass\n", limits=wide)).status, 403, "after the reload")
        reload(json.dumps({**d.config, "default_quota": {"memory_bytes": "much"}}))
        t.equal(d.submit(job("pass\n", limits=wide)).status, 403, "after a reload that was refused")
        t.true("default_quota.memory_bytes" in d.said(), "the log does not name the member")


@case("SIGHUP with a certificate that is damaged keeps all of the old, too")
def reload_damaged_certificate(t):
    cert, key = t.path("cert.pem"), t.path("key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2",
                    "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    for path in (cert, key):
        path.chmod(0o644)
    with Daemon(t, tls={"cert": str(cert), "key": str(key)}) as d:
        limits = {"memory_bytes": 300 << 20}
        t.equal(d.submit(job("pass\n", limits=limits)).status, 202, "before")
        cert.write_text("no certificate", encoding="utf-8")
        d.write_config(default_quota={"memory_bytes": 100 << 20})
        d.child.send_signal(signal.SIGHUP)
        end = time.monotonic() + 10
        while "event=reload-failed" not in d.said():
            t.true(time.monotonic() < end, "the log does not tell of the reload")
            time.sleep(0.1)
        t.equal(d.submit(job("pass\n", limits=limits)).status, 202, "after a reload that failed")


@case("killed with all of its machines, it ends what ran at once, and tells what it wrote")
def killed_with_all(t):
    with Daemon(t) as d:
        running = d.accepted(WAITS)
        text = d.await_output(running)
        left = [d.child.pid, *(pid for pid, _ in t.users_of(d.state) if pid != d.child.pid)]
        for pid in left:
            try:
                os.kill(pid, signal.SIGSTOP)  # or one would write a record while another dies
            except ProcessLookupError:
                pass
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        d.child.wait()
        t.wait_gone(d.state, 10)
        d.start()
        doc = d.ended(running, "sandbox_failure", seconds=5)
        t.equal(doc["result"]["stdout"]["data"], text, "stdout of the result")
        t.equal(d.ask("GET", f"/v1/jobs/{running}/stdout").body, text.encode(), "/stdout")
        t.equal(doc["result"]["machine"]["id"], doc["machine_id"], "its machine")
        d.ended(d.accepted("print(1)\n"), "success")


@case("a quota that is widened by SIGHUP holds for what waits already")
def reload_quota(t):
    with Daemon(t, capacity={"machines": 2}, default_quota={"concurrent": 1}) as d:
        one, two = d.accepted(WAITS), d.accepted(WAITS)
        d.await_output(one)
        time.sleep(2)
        t.equal(d.ask("GET", f"/v1/jobs/{two}").doc["state"], "queued", "state of a second job of one at a time")
        d.write_config(default_quota={"concurrent": 2})
        d.child.send_signal(signal.SIGHUP)
        d.await_output(two)
        t.equal(d.ask("GET", f"/v1/jobs/{one}").doc["state"], "running", "state of the first when the second runs")


@case("--check names what is wrong with a configuration")
def check(t):
    d = Daemon(t)
    for change, word in (({"listn": []}, "listn"), ({"queue": {"jobs_max": 0}}, "queue.jobs_max")):
        path = t.write("bad.json", json.dumps({**d.config, **change}))
        path.chmod(0o644)
        p = subprocess.run([str(AIRLOCKD), "--check", "--config", str(path)], capture_output=True, check=False)
        t.true(p.returncode != 0 and word in p.stderr.decode(), f"{change}: {p}")
    p = subprocess.run([str(AIRLOCKD), "--check", "--config", str(d.write_config())], capture_output=True,
                       check=False)
    t.equal(p.returncode, 0, f"a good one ({p.stderr})")
    p = subprocess.run([str(AIRLOCKD), "--check", "--listen", "0.0.0.0:7380"], capture_output=True, check=False)
    t.true(p.returncode == 2 and "tls" in p.stderr.decode(), f"the command line may not open what the file may not: {p}")


@case("with a full disk jobs are refused or end with a reason, and it recovers by itself", root=True)
def disk_full(t):
    state = t.private_state()
    inner = state / "daemon"
    inner.mkdir(mode=0o700, exist_ok=True)
    owner = pwd.getpwnam(USER).pw_uid
    mount = ["unshare", "-m", "sh", "-c",
             f"mount -t tmpfs -o size=12m,mode=0700,uid={owner} none '{inner}' && exec \"$@\"", "sh"]
    with Daemon(t, state=state, wrap=mount, capacity={"disk_reserve_bytes": 1}) as d:
        d.ended(d.accepted("print(1)\n"), "success")
        root = f"/proc/{d.child.pid}/root{inner}"
        with open(f"{root}/filler", "wb") as filler:
            try:
                while True:
                    filler.write(b"x" * 65536)
                    filler.flush()
            except OSError:
                pass
        answer = d.submit(job("print('x' * 100000)\n"))
        if answer.status == 202:
            doc = d.wait(answer.doc["id"])
            t.true(doc["verdict"] in ("capacity_rejected", "sandbox_failure") and doc["reason"],
                   f"verdict on a full disk: {doc['verdict']} ({doc['reason']})")
        else:
            t.true(answer.status in (503, 507), f"status on a full disk ({answer})")
        t.equal(d.ask("GET", "/healthz").status, 200, "health on a full disk")
        os.unlink(f"{root}/filler")
        end = time.monotonic() + 30
        while d.ask("GET", "/readyz").status != 200:
            t.true(time.monotonic() < end, "not ready 30 s after there was room again")
            time.sleep(0.2)
        d.ended(d.accepted("print(2)\n"), "success")
        name = d.accepted("import sys\nsys.stdout.write('z' * (20 << 20))\n", limits={"stdout_bytes": 32 << 20})
        doc = d.wait(name)
        t.true(doc["verdict"] in ("capacity_rejected", "sandbox_failure") and doc["reason"],
               f"verdict of a job that filled the disk: {doc['verdict']} ({doc['reason']})")
        d.ended(d.accepted("print(3)\n"), "success")
