"""build/airlockd on a socket of its own, and a client of few words for it: HTTP without a library's help."""
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import urllib.parse

import harness
from harness import AIRLOCK, Fail

AIRLOCKD = harness.ROOT / "build" / "airlockd"
# Whom the front half becomes when the tests run as root.
USER = os.environ.get("AIRLOCK_TEST_USER", "nobody")

PATIENT = {"wall_ms": 60000, "cpu_ms": 60000}
# Says that it runs, then waits for its end.
WAITS = "import time\nprint('ready', flush=True)\ntime.sleep(50)\n"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def doc(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"HTTP {self.status}: {self.body[:400]!r}"


def job(code, **members):
    """A Python job that has time, whatever runs the machine."""
    limits = {**PATIENT, **members.pop("limits", {})}
    value = {"language": "python", "code": code, "limits": limits, **members}
    if harness.ENGINE:
        value.setdefault("engine", harness.ENGINE)
    return value


def form(*parts):
    """multipart/form-data of (name, filename or None, bytes)."""
    body = b""
    for name, filename, data in parts:
        file = f'; filename="{filename}"' if filename else ""
        body += (f'--frontier\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n').encode()
        body += data + b"\r\n"
    return body + b"--frontier--\r\n", {"Content-Type": "multipart/form-data; boundary=frontier"}


class Daemon:
    """with Daemon(t, ...) as d: it is ready. Its end is a drain; kill() is the other way."""

    def __init__(self, t, state=None, wrap=(), tcp=False, **config):
        if not AIRLOCKD.exists():
            raise Fail(f"{AIRLOCKD} is missing: run `make build` first")
        self.t = t
        self.state = pathlib.Path(state or t.private_state())
        self.socket = t.path("socket")
        self.config = {"listen": [f"unix:{self.socket}"], "drain_seconds": 20, **config}
        self.port = free_port() if tcp else None
        if tcp:
            self.config["listen"].append(f"127.0.0.1:{self.port}")
        if os.getuid() == 0:
            self.config.setdefault("user", USER)
            os.chmod(t.dir, 0o711)
        self.wrap = list(wrap)
        self.token = None
        self.child = None
        self.log = t.path("airlockd.log")

    @property
    def url(self):
        return f"unix:{self.socket}"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.stop()
        else:
            self.kill()

    def write_config(self, **changes):
        self.config.update(changes)
        path = self.t.path("airlockd.json")
        path.write_text(json.dumps(self.config), encoding="utf-8")
        path.chmod(0o644)
        return path

    def command(self):
        return [*self.wrap, str(AIRLOCKD), "--state", str(self.state), "--config",
                str(self.write_config())]

    def spawn(self):
        with open(self.log, "ab") as log:
            return subprocess.Popen(self.command(), cwd=self.t.dir, env=harness.environment(),
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                    start_new_session=True)

    def start(self, seconds=60):
        self.child = self.spawn()
        end = time.monotonic() + seconds
        while True:
            if self.child.poll() is not None:
                raise Fail(f"airlockd ended with {self.child.returncode}: {self.said()}")
            try:
                if self.ask("GET", "/readyz").status == 200:
                    return
            except OSError:
                pass
            if time.monotonic() > end:
                self.kill()
                raise Fail(f"airlockd is not ready after {seconds} s: {self.said()}")
            time.sleep(0.05)

    def said(self):
        return self.log.read_text(encoding="utf-8", errors="replace")[-800:]

    def stop(self, seconds=60):
        """SIGTERM; its exit code."""
        if self.child is None or self.child.poll() is not None:
            return None
        self.child.send_signal(signal.SIGTERM)
        try:
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Fail(f"airlockd did not end within {seconds} s of SIGTERM: {self.said()}") from None

    def kill(self):
        if self.child is not None and self.child.poll() is None:
            self.child.kill()
            self.child.wait()

    # HTTP

    def connection(self, timeout=90):
        return UnixConnection(self.socket, timeout)

    def ask(self, method, path, body=None, headers=None, token=None, timeout=90):
        head = dict(headers or {})
        if token or self.token:
            head["Authorization"] = f"Bearer {token or self.token}"
        connection = self.connection(timeout)
        try:
            connection.request(method, path, body, head)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        except http.client.HTTPException as error:
            raise OSError(f"{method} {path}: {error!r}") from error
        finally:
            connection.close()

    def submit(self, value, query="", token=None, **headers):
        head = {"Content-Type": "application/json",
                **{name.replace("_", "-"): text for name, text in headers.items()}}
        return self.ask("POST", "/v1/jobs" + query, json.dumps(value).encode(), head, token)

    def accepted(self, code, token=None, **members):
        """The id of a job that must be taken."""
        answer = self.submit(job(code, **members), token=token)
        self.t.equal(answer.status, 202, f"status of an accepted job ({answer})")
        return answer.doc["id"]

    def get(self, name, token=None):
        answer = self.ask("GET", f"/v1/jobs/{name}", token=token)
        self.t.equal(answer.status, 200, f"status of GET ({answer})")
        return answer.doc

    def wait(self, name, states=("ended",), seconds=120, token=None):
        end = time.monotonic() + seconds
        while True:
            doc = self.get(name, token)
            if doc["state"] in states:
                return doc
            if time.monotonic() > end:
                raise Fail(f"job {name} is {doc['state']} after {seconds} s; {self.said()}")
            time.sleep(0.05)

    def ended(self, name, verdict, **more):
        doc = self.wait(name, **more)
        if doc["verdict"] != verdict:
            raise Fail(f"verdict {doc['verdict']} ({doc['reason']}), not {verdict}: "
                       f"{(doc['result'] or {}).get('message')}; {self.said()}")
        return doc

    def events(self, name, after=0, token=None):
        """(number, name, data) as they come, each with the moment."""
        connection = self.connection()
        head = {"Last-Event-ID": str(after)}
        if token or self.token:
            head["Authorization"] = f"Bearer {token or self.token}"
        try:
            connection.request("GET", f"/v1/jobs/{name}/events", None, head)
            answer = connection.getresponse()
            self.t.equal(answer.status, 200, "status of the event stream")
            fields = {}
            for line in answer:
                line = line.decode().rstrip("\n")
                if line == "" and "data" in fields:
                    # A long event comes in pieces, of which the last has the number.
                    yield int(fields.get("id", 0)), fields["event"], json.loads(fields["data"])
                    fields = {}
                elif line and not line.startswith(":"):
                    key, _, value = line.partition(":")
                    fields[key] = value.removeprefix(" ")
        finally:
            connection.close()

    def await_output(self, name):
        for _, kind, data in self.events(name):
            if kind == "stdout":
                return data["data"]
            self.t.true(kind != "result", f"the job ended without output: {data}")
        raise Fail("the event stream ended without output")

    def metrics(self):
        answer = self.ask("GET", "/metrics")
        self.t.equal(answer.status, 200, "status of /metrics")
        found = {}
        for line in answer.body.decode().splitlines():
            match = re.match(r"([a-z_]+(?:\{[^}]*\})?) ([0-9.eE+-]+|\+Inf)$", line)
            if match:
                found[match.group(1)] = float(match.group(2))
        return found

    def output(self, name, file):
        return self.ask("GET", f"/v1/jobs/{name}/outputs/{urllib.parse.quote(file)}")

    # airlock as its client

    def airlock(self, *words, stdin=None, timeout=120, **env):
        line = [str(AIRLOCK), *map(str, words)]
        return subprocess.run(line, cwd=self.t.dir, input=stdin, capture_output=True, check=False,
                              timeout=timeout,
                              env={**harness.environment(), "AIRLOCK_URL": self.url, **env})

    def new_token(self, tenant, *quotas):
        if "--isolation" not in quotas:
            quotas += ("--isolation", "emulated")  # which a tenant is let do by opt-in only
        done = subprocess.run([str(AIRLOCK), "token", "new", "--state", str(self.state), "--tenant", tenant,
                               *quotas], capture_output=True, text=True, check=False,
                              env=harness.environment())
        match = re.search(r"alk_[0-9A-Za-z_-]+", done.stdout)
        if done.returncode != 0 or not match:
            raise Fail(f"airlock token new: {done.returncode} {done.stdout!r} {done.stderr!r}")
        return match.group(0)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
