"""A daemon that plays a scene instead of running jobs: for tests of the client alone.

The scene is named by the first line of the program, "# scene: NAME"; SCENES says what each does. Good
answers are those of docs/airlockd.md, hostile ones break one rule each.
"""
import base64
import hashlib
import http.server
import json
import os
import re
import socketserver
import threading
import time


def result(verdict="success", **changes):
    """As `airlock run --json` has it, with what the client reads."""
    value = {
        "verdict": verdict, "reason": None, "message": "the program ended with exit code 0",
        "exit_code": 0 if verdict == "success" else None, "signal": None,
        "stdout": {"encoding": None, "data": None, "bytes": 6, "truncated": False},
        "stderr": {"encoding": "utf8", "data": "", "bytes": 0, "truncated": False},
        "outputs": [], "dropped": [],
        "phases": {"spawned_ns": 1, "ready_ns": 1000000, "started_ns": 1000000,
                   "exited_ns": 2000000, "cleaned_ns": 3000000},
        "machine": {"engine": "tcg", "isolation": "emulated"},
        "cleanup": {"verified": True, "checks": {}},
    }
    value.update(changes)
    return value


def output(name, data, **changes):
    entry = {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    entry.update(changes)
    return entry


class Job:
    def __init__(self, number, request):
        self.id = f"{number:032x}"
        self.request = request
        self.scene = request["scene"]
        self.state = "queued"
        self.verdict = None
        self.result = None
        self.canceled = threading.Event()
        self.files = {}       # outputs, by name in the path
        self.stdout = b"hello\n"

    def json(self, with_result=False):
        value = {"id": self.id, "state": self.state, "tenant": "local", "priority": 5,
                 "created": "2026-01-02T03:04:05.678Z", "started": None, "ended": None,
                 "deadline": None, "attempts": 1, "machine_id": None, "verdict": self.verdict,
                 "reason": None, "kept_bytes": 0, "purged": False}
        if with_result:
            value["result"] = self.result
        return value

    def end(self, value):
        self.state = "ended"
        self.verdict = value["verdict"]
        self.result = value


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def address_string(self):
        return "client"

    def answer(self, status, body=b"", kind="application/json", **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def problem(self, status, title, detail, **more):
        headers = {"Retry_After": str(more.pop("retry"))} if "retry" in more else {}
        self.answer(status, {"type": "urn:airlock:problem:x", "title": title, "status": status,
                             "detail": detail, **more}, "application/problem+json", **headers)

    def allowed(self):
        if self.server.token is None:
            return True
        if self.headers.get("Authorization") == f"Bearer {self.server.token}":
            return True
        self.problem(401, "Unauthorized", "no such token")
        return False

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, dict(self.headers), body))
        if not self.allowed():
            return
        request = read_request(self.headers["Content-Type"], body)
        key = self.headers.get("Idempotency-Key")
        with self.server.lock:
            job = self.server.keys.get(key)
            if job is None:
                job = Job(len(self.server.jobs) + 1, request)
                self.server.jobs[job.id] = job
                self.server.keys[key] = job
        refusals = {
            "refused-field": lambda: self.problem(400, "Bad job", "must be an integer",
                                                  field="limits.pids"),
            "refused-escape": lambda: self.problem(403, "\x1b[2J", "no\x1b]0;x\x07"),
            "refused-busy": lambda: self.problem(503, "Queue full", "later", retry=7),
            "refused-html": lambda: self.answer(502, b"<html>", "text/html"),
            "no-json": lambda: self.answer(202, b"{"),
            "no-id": lambda: self.answer(202, {"state": "queued"}),
            "odd-id": lambda: self.answer(202, {**job.json(), "id": "../" + "0" * 29}),
            "odd-state": lambda: self.answer(202, {**job.json(), "state": "fine"}),
            "odd-type": lambda: self.answer(202, [1]),
            "redirect": lambda: self.answer(302, b"", Location="http://127.0.0.1:1/"),
            "long-header": lambda: self.answer(202, job.json(), X_Long="x" * 60000,
                                               X_More="x" * 60000),
        }
        if job.scene == "lost-answer" and key not in self.server.lost:
            self.server.lost.add(key)
            self.close_connection = True
            return
        if job.scene in refusals:
            refusals[job.scene]()
        else:
            self.answer(202, job.json(), Location=f"/v1/jobs/{job.id}")

    def job(self):
        match = re.match(r"/v1/jobs/([0-9a-f]{32})(/.*)?$", self.path)
        job = self.server.jobs.get(match.group(1)) if match else None
        if job is None:
            self.problem(404, "Not found", "there is no such job")
        return job, match.group(2) if match else None

    def do_DELETE(self):
        self.server.requests.append((self.path, dict(self.headers), b""))
        job, rest = self.job()
        if job is None:
            return
        if job.state == "ended":
            self.problem(409, "Ended", "the job had ended")
            return
        job.canceled.set()
        self.answer(202, job.json())

    def do_GET(self):
        self.server.requests.append((self.path, dict(self.headers), b""))
        if not self.allowed():
            return
        if self.path.startswith("/v1/jobs?"):
            self.list_jobs()
            return
        job, rest = self.job()
        if job is None:
            return
        if rest is None:
            self.answer(200, job.json(True))
        elif rest == "/events":
            self.events(job)
        elif rest == "/stdout":
            self.answer(200, job.stdout, "application/octet-stream")
        elif rest.startswith("/outputs/") and rest[len("/outputs/"):] in job.files:
            self.answer(200, job.files[rest[len("/outputs/"):]], "application/octet-stream")
        else:
            self.problem(404, "Not found", "nothing there")

    def list_jobs(self):
        query = dict(part.split("=") for part in self.path.partition("?")[2].split("&"))
        jobs = sorted(self.server.jobs.values(), key=lambda job: job.id, reverse=True)
        jobs = [job for job in jobs if query.get("state", job.state) == job.state
                and query.get("after", "g") > job.id]
        page = jobs[:min(int(query["limit"]), self.server.page)]
        self.answer(200, {"jobs": [job.json() for job in page],
                          "next": page[-1].id if len(page) < len(jobs) else None})

    def events(self, job):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        after = int(self.headers.get("Last-Event-ID", "0"))
        stream = Stream(self, job, after)
        try:
            SCENES.get(job.scene, SCENES["success"])(stream)
            self.wfile.write(b"0\r\n\r\n")
        except Broken:
            self.close_connection = True
            self.connection.shutdown(2)
        except OSError:
            self.close_connection = True


class Broken(Exception):
    """The scene breaks the connection."""


class Stream:
    def __init__(self, handler, job, after):
        self.handler, self.job, self.after, self.seq = handler, job, after, 0

    def raw(self, data):
        self.handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.handler.wfile.flush()

    def event(self, name, value):
        self.seq += 1
        if self.seq > self.after:
            self.raw(f"id: {self.seq}\nevent: {name}\ndata: {json.dumps(value)}\n\n".encode())

    def state(self, name):
        self.job.state = name
        self.event("state", {"state": name})

    def out(self, text, name="stdout"):
        self.event(name, {"encoding": "utf8", "data": text})

    def end(self, value, **changes):
        self.job.end(value)
        self.event("state", {"state": "ended"})
        self.event("result", {**self.job.json(True), **changes})


def success(s):
    s.state("queued")
    s.state("running")
    s.out("hel")
    s.raw(b": still here\n\n")
    s.out("lo\n")
    s.out("warn\n", "stderr")
    s.end(result())


def outputs(*entries, files=None):
    def scene(s):
        s.job.files = files if files is not None else {
            entry["name"]: data for entry, data in entries}
        s.state("running")
        s.end(result(outputs=[entry for entry, _ in entries]))
    return scene


def breaks(s):
    """Each connection gives two events more, then breaks within one."""
    s.state("queued")
    for i in range(6):
        s.out(f"line {i}\n")
        if s.seq == s.after + 2 and i < 5:
            s.raw(b"id: 99\nevent: stdout\ndata: {\"enc")
            raise Broken
    s.end(result())


def early_end(s):
    """The stream ends as if all was well, once."""
    s.state("running")
    if s.after > 0:
        s.out("again\n")
        s.end(result())


def wait_for_cancel(s):
    s.state("running")
    s.out("started\n")
    if not s.job.canceled.wait(30):
        raise Broken
    s.end(result("canceled", message="the caller canceled"))


def flood(s):
    s.state("running")
    for _ in range(40):
        s.out("x" * 99999 + "\n")
    s.end(result())


def bytes_out(s):
    s.state("running")
    s.event("stdout", {"encoding": "base64", "data": base64.b64encode(b"\0\xff\x1b").decode()})
    s.end(result())


def long_stdout(s):
    s.job.stdout = b"y" * (2 << 20)
    s.state("running")
    s.end(result(stdout={"encoding": None, "data": None, "bytes": 2 << 20, "truncated": False}))


def raw(*pieces):
    def scene(s):
        for piece in pieces:
            s.raw(piece)
    return scene


def endless_line(s):
    while True:
        s.raw(b"data: " + b"x" * (1 << 20))


SCENES = {
    "success": success,
    "failure": lambda s: s.end(result("user_exception", exit_code=7, message="exit code 7")),
    "breaks": breaks,
    "early-end": early_end,
    "wait": wait_for_cancel,
    "flood": flood,
    "bytes": bytes_out,
    "long-stdout": long_stdout,
    "outputs": outputs((output("a.txt", b"one"), b"one"), (output("d/e/b.bin", b"\0" * 70000),
                                                           b"\0" * 70000),
                       (output("d-e", b""), b"")),
    "odd-name": outputs((output("\\xff", b"x", name_base64=base64.b64encode(b"\xff").decode()),
                         b"x"), files={"%FF": b"x"}),
    "climb": outputs((output("../climbed", b"x"), b"x")),
    "climb-inside": outputs((output("a/../../climbed", b"x"), b"x")),
    "climb-base64": outputs((output("fine", b"x", name_base64=base64.b64encode(
        b"../climbed").decode()), b"x")),
    "absolute": outputs((output("/tmp/airlock-climbed", b"x"), b"x")),
    "nul-name": outputs((output("a\0b", b"x"), b"x")),
    "twice": outputs((output("a", b"x"), b"x"), (output("a", b"x"), b"x")),
    "below-file": outputs((output("a", b"x"), b"x"), (output("a/b", b"x"), b"x")),
    "wrong-digest": outputs((output("ok", b"1"), b"1"), (output("a", b"x"), b"y")),
    "longer": outputs((output("a", b"x"), b"xx")),
    "shorter": outputs((output("a", b"xx"), b"x")),
    "missing": outputs((output("a", b"xx"), b"xx"), files={}),
    "huge-list": outputs((output("a", b"x", bytes=1 << 62), b"x")),
    "negative": outputs((output("a", b"x", bytes=-1), b"x")),
    "no-list": lambda s: s.end(result(outputs="none")),
    "garbage": raw(b"\0\1\2\n\n\xff"),
    "bad-id": raw(b"id: x\n"),
    "bad-json": raw(b"id: 1\nevent: stdout\ndata: {\n\n"),
    "bad-encoding": raw(b'id: 1\nevent: stdout\ndata: {"encoding":"rot13","data":"a"}\n\n'),
    "bad-base64": raw(b'id: 1\nevent: stdout\ndata: {"encoding":"base64","data":"?"}\n\n'),
    "bad-state": raw(b'id: 1\nevent: state\ndata: {"state":"fine"}\n\n'),
    "endless-line": endless_line,
    "other-job": lambda s: s.end(result(), id="f" * 32),
    "odd-verdict": lambda s: s.end(result(), verdict="splendid"),
    "verdicts-differ": lambda s: s.end(result(), verdict="timeout"),
    "not-ended": lambda s: s.end(result(), state="running", verdict=None),
    "no-result": lambda s: s.end(result("rejected"), result=None),
}


def read_request(kind, body):
    """The job of a POST; for a form what its parts hold, beside it."""
    if kind == "application/json":
        job = json.loads(body)
        job["parts"] = []
    else:
        boundary = b"--" + kind.partition("boundary=")[2].encode()
        parts = []
        for part in body.split(boundary)[1:-1]:
            head, _, data = part.strip(b"\r\n").partition(b"\r\n\r\n")
            name = re.search(rb'name="([^"]*)"', head).group(1).decode()
            file = re.search(rb'filename="((?:[^"\\]|\\.)*)"', head)
            shown = re.sub(rb"\\(.)", rb"\1", file.group(1)).decode() if file else None
            parts.append((name, shown, data))
        job = json.loads(next(data for name, _, data in parts if name == "job"))
        job["parts"] = parts
    match = re.match(r"[#/]+ scene: ([a-z0-9-]+)", job.get("code", ""))
    job["scene"] = match.group(1) if match else "success"
    return job


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        """A client that goes away is part of the play."""


class UnixServer(Server):
    address_family = 1

    def server_bind(self):
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = "localhost", 0


class Fake:
    """with Fake() as fake: fake.url"""

    def __init__(self, unix=None, token=None):
        self.server = UnixServer(unix, Handler) if unix else Server(("127.0.0.1", 0), Handler)
        self.url = f"unix:{unix}" if unix else f"http://127.0.0.1:{self.server.server_port}"
        self.server.token, self.server.page = token, 100
        self.server.lock = threading.Lock()
        self.server.jobs, self.server.keys, self.server.lost = {}, {}, set()
        self.server.requests = []

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *args):
        self.server.shutdown()
        self.server.server_close()

    @property
    def jobs(self):
        return list(self.server.jobs.values())


if __name__ == "__main__":
    with Fake() as fake:
        print(fake.url, os.getpid(), flush=True)
        time.sleep(3600)
