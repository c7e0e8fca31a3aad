"""Raw sockets to an http-driver: no HTTP library, so that a request can be as wrong as it wants."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

JOB = b'{"language":"python","code":"print(1)"}'


class Answer:
    """status is 0 if the connection was closed without any answer, -1 if nothing came in time."""

    def __init__(self, raw, seconds, timed_out):
        self.raw = raw
        self.seconds = seconds
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.headers = {k.strip().lower(): v.strip() for k, _, v in
                        (line.partition(":") for line in lines[1:])}
        first = lines[0].split(" ")
        self.status = -1 if timed_out and not raw else 0 if not raw else int(first[1])
        if self.headers.get("transfer-encoding") == "chunked":
            self.body = unchunk(self.body)

    def json(self):
        return json.loads(self.body)


def unchunk(data):
    out = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        n = int(size, 16)
        out += data[:n]
        data = data[n + 2:]
    return out


def is_whole(raw):
    head, end, body = raw.partition(b"\r\n\r\n")
    if not end:
        return False
    if head.startswith(b"HTTP/1.1 100"):
        return is_whole(body)
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return len(body) >= int(line.split(b":")[1])
        if line.startswith(b"transfer-encoding:"):
            return body.endswith(b"0\r\n\r\n")
    return b" 204 " in head.split(b"\r\n")[0]


class Driver:
    """One server; options as http-driver takes them. Use as a context manager."""

    def __init__(self, program, **options):
        self.directory = tempfile.mkdtemp(prefix="airlock-http-")
        arguments = [f"{k.replace('_', '-')}={v}" for k, v in options.items()]
        self.log = open(os.path.join(self.directory, "log"), "w+b")
        self.process = subprocess.Popen([program, self.directory, *arguments],
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.port = int(self.process.stdout.readline().split()[1])
        self.path = self.process.stdout.readline().split()[1]
        self.sanitized = self.process.stdout.readline().split()[1] == "sanitized"

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.terminate()
        code = self.process.wait(20)
        self.log.seek(0)
        said = self.log.read().decode("utf-8", "replace")
        self.process.stdout.close()
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        if code != 0 and unused[0] is None:
            raise AssertionError(f"the driver ended with {code}: {said[-2000:]}")

    def connect(self, unix=False):
        if unix:
            s = socket.socket(socket.AF_UNIX)
            s.connect(self.path)
        else:
            s = socket.create_connection(("127.0.0.1", self.port), 5)
        return s

    def talk(self, data, wait=10, unix=False, half=False, sock=None, until_close=False):
        """Sends, then reads one whole answer (or until the end)."""
        s = sock or self.connect(unix)
        begun = time.monotonic()
        raw = b""
        timed_out = False
        try:
            s.settimeout(wait)
            s.sendall(data)
            if half:
                s.shutdown(socket.SHUT_WR)
            while until_close or not is_whole(raw):
                piece = s.recv(65536)
                if not piece:
                    break
                raw += piece
        except TimeoutError:
            timed_out = True
        except OSError:
            pass
        finally:
            if sock is None:
                s.close()
        return Answer(raw, time.monotonic() - begun, timed_out)

    def get(self, path, extra="", **options):
        return self.talk(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{extra}\r\n".encode(), **options)

    def delete(self, path, **options):
        return self.talk(f"DELETE {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(), **options)

    def post(self, body, path="/v1/jobs", extra="", kind="application/json", **options):
        head = (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
                f"Content-Length: {len(body)}\r\n{extra}\r\n")
        return self.talk(head.encode() + body, **options)

    def open_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def rss_kib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        return int(status.split("VmRSS:")[1].split()[0])


class Tap:
    """Test Anything Protocol for cases that are functions; names are sentences."""

    def __init__(self):
        self.n = 0
        self.failed = 0

    def check(self, name, holds, what=""):
        self.n += 1
        self.failed += not holds
        print(f"{'ok' if holds else 'not ok'} {self.n} - {name}", flush=True)
        if not holds:
            print(f"# {what}", flush=True)

    def check_memory(self, name, kib, most, sanitized):
        if sanitized:
            self.n += 1
            print(f"ok {self.n} - {name} # SKIP memory of a sanitizer is not the daemon's", flush=True)
        else:
            self.check(name, kib < most, f"{kib} KiB")

    def end(self):
        print(f"1..{self.n}")
        return 1 if self.failed else 0
