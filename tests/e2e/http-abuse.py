#!/usr/bin/python3
"""What strangers may send to airlockd's port: each request with the answers that are right for it.

tests/e2e/http-abuse.py HTTP-DRIVER      TAP on stdout

H1 slow requests; H2 framing; H3 documents; H4 ids; H5 many connections; H6 clients that go away;
H7 large bodies; H8 Host and Origin; H9 idempotency; H10 results; H11 lines of the log; O16 readers that
never read; U4 a tenant that waits everywhere.
"""
import os
import re
import socket
import sys
import time

from http_wire import JOB, Driver, Tap

BASE = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = BASE + b"Transfer-Encoding: chunked\r\n\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


def length(value, body=JOB, more=b""):
    return BASE + b"Content-Length: " + value + b"\r\n" + more + b"\r\n" + body


GOOD = str(len(JOB)).encode()
# name -> request, statuses that are right; each of them ends the connection
FRAMING = {
    "a negative length": (length(b"-5"), {400}),
    "a length with a plus": (length(b"+" + GOOD), {400}),
    "a length in hex": (length(b"0x27"), {400}),
    "a length in words": (length(b"many"), {400}),
    "an empty length": (length(b""), {400}),
    "a list of lengths": (length(GOOD + b", " + GOOD), {400}),
    "a length of 2^64 and more": (length(b"18446744073709551655"), {413}),
    "a length of 2^63": (length(b"9223372036854775808"), {413}),
    "two lengths": (length(GOOD, more=b"Content-Length: 5\r\n"), {400}),
    "two equal lengths": (length(GOOD, more=b"Content-Length: " + GOOD + b"\r\n"), {400}),
    "a length and a coding": (length(GOOD, more=b"Transfer-Encoding: chunked\r\n"), {400}),
    "two codings": (BASE + b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n"
                    b"0\r\n\r\n", {400}),
    "a list of codings": (BASE + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", {501}),
    "an unknown coding": (BASE + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", {501}),
    "a chunk of 2^68 bytes": (CHUNKED + b"FFFFFFFFFFFFFFFFF\r\nx\r\n0\r\n\r\n", {413}),
    "a negative chunk": (CHUNKED + b"-1\r\nx\r\n0\r\n\r\n", {400}),
    "a chunk with 0x": (CHUNKED + b"0x1\r\nZ\r\n0\r\n\r\n", {400}),
    "a chunk with blanks": (CHUNKED + b" 1\r\nZ\r\n0\r\n\r\n", {400}),
    "a chunk with an extension": (CHUNKED + b"1;a=b\r\nZ\r\n0\r\n\r\n", {400}),
    "a chunk without a size": (CHUNKED + b"1\r\nZ\r\n\r\n\r\n" + HEALTH + b"\r\n", {400}),
    "a chunk longer than it says": (CHUNKED + b"1\r\nZZ\r\n0\r\n\r\n", {400}),
    "chunks with bare LF": (CHUNKED + b"1\nZ\n0\n\n", {400}),
    "a trailer": (CHUNKED + b"1\r\nZ\r\n0\r\nX: y\r\n\r\n", {400}),
    "no Host": (b"GET /healthz HTTP/1.1\r\n\r\n", {400}),
    "two Hosts": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n", {400}),
    "HTTP/9.9": (b"GET /healthz HTTP/9.9\r\nHost: localhost\r\n\r\n", {505}),
    "HTTP/1.0": (b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n", {505}),
    "HTTP/0.9": (b"GET /healthz\r\n\r\n", {400}),
    "http in small letters": (b"GET /healthz http/1.1\r\nHost: localhost\r\n\r\n", {400, 505}),
    "bare LF": (b"GET /healthz HTTP/1.1\nHost: localhost\n\n", {400}),
    "one bare LF": (HEALTH + b"A: b\n\r\n", {400}),
    "bare CR": (b"GET /healthz HTTP/1.1\rHost: localhost\r\r\n\r\n", {400}),
    "a folded header": (HEALTH + b"A: b\r\n c\r\n\r\n", {400}),
    "a folded first header": (b"GET /healthz HTTP/1.1\r\n Host: localhost\r\n\r\n", {400}),
    "a blank before the colon": (b"GET /healthz HTTP/1.1\r\nHost : localhost\r\n\r\n", {400}),
    "a header without a colon": (HEALTH + b"nothing\r\n\r\n", {400}),
    "a header without a name": (HEALTH + b": x\r\n\r\n", {400}),
    "NUL in a value": (HEALTH + b"A: b\0c\r\n\r\n", {400}),
    "NUL in a name": (HEALTH + b"A\0b: c\r\n\r\n", {400}),
    "NUL in the target": (b"GET /a\0b HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    "a control character in a value": (HEALTH + b"A: \x01\r\n\r\n", {400}),
    "a blank in the target": (b"GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n", {400, 505}),
    "two blanks": (b"GET  /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    "a whole address as target": (b"GET http://evil/ HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    "an empty line first": (b"\r\n" + HEALTH + b"\r\n", {400}),
    "bytes of all kinds": (bytes(range(256)) * 8, {400}),
    "a hello of TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200), {400}),
    "a preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400, 505}),
    "a long target": (b"GET /" + b"a" * 200000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", {431}),
    "a long header": (HEALTH + b"A: " + b"a" * 1000000 + b"\r\n\r\n", {431}),
    "many headers": (HEALTH + b"A: b\r\n" * 10000 + b"\r\n", {431}),
    "65 headers": (HEALTH + b"A: b\r\n" * 64 + b"\r\n", {431}),
    "an unknown expectation": (length(GOOD, more=b"Expect: 200-ok\r\n"), {417}),
    "a body for GET": (HEALTH + b"Content-Length: 3\r\n\r\nabc", {400}),
    "a coded body": (length(GOOD, more=b"Content-Encoding: gzip\r\n"), {415}),
    "an unknown method": (b"BREW /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n", {405}),
}

# name -> body, the field that the problem names (None: not looked at)
DOCUMENTS = {
    "an empty body": (b"", ""), "no JSON": (b"hello", ""), "an array": (b"[]", ""),
    "null": (b"null", ""), "half a document": (JOB[:-3], ""), "junk behind it": (JOB + b"xx", ""),
    "a key twice": (JOB[:-1] + b',"language":"python"}', ""),
    "an unknown key": (JOB[:-1] + b',"rooot":true}', "rooot"),
    "wrong types": (b'{"language":1,"code":{}}', "language"),
    "a deep document": (b"[" * 100000 + b"]" * 100000, ""),
    "bytes that are not UTF-8": (b'{"language":"python","code":"\xff\xed\xa0\x80"}', ""),
    "half a surrogate": (b'{"language":"python","code":"\\ud800"}', ""),
    "NUL in a word": (b'{"language":"pyt\\u0000hon","code":""}', "language"),
    "NaN": (JOB[:-1] + b',"limits":{"wall_ms":NaN}}', ""),
    "a negative limit": (JOB[:-1] + b',"limits":{"wall_ms":-1}}', "limits.wall_ms"),
    "a limit of zero": (JOB[:-1] + b',"limits":{"memory_bytes":0}}', "limits.memory_bytes"),
    "a limit of 2^63": (JOB[:-1] + b',"limits":{"wall_ms":9223372036854775808}}', ""),
    "1e999": (JOB[:-1] + b',"limits":{"wall_ms":1e999}}', ""),
    "a limit with decimals": (JOB[:-1] + b',"limits":{"wall_ms":1.5}}', "limits.wall_ms"),
    "an unknown limit": (JOB[:-1] + b',"limits":{"luck":1}}', "limits.luck"),
    "a file outside": (JOB[:-1] + b',"files":[{"name":"../x","content":""}]}', "files[0]"),
    "a file without a name": (JOB[:-1] + b',"files":[{"name":"","content":""}]}', "files[0]"),
    "a file of two names": (JOB[:-1] + b',"files":[{"name":"a","content":""},'
                            b'{"name":"a","content":""}]}', None),
    "wrong base64": (JOB[:-1] + b',"stdin_base64":"***"}', "stdin_base64"),
    "a priority of 10": (JOB[:-1] + b',"priority":10}', "priority"),
    "a priority of words": (JOB[:-1] + b',"priority":"high"}', "priority"),
    "a deadline of 0": (JOB[:-1] + b',"deadline_ms":0}', "deadline_ms"),
    "nothing to run": (b"{}", "language"),
}

IDS = ["../../../etc/passwd", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "abc%00def", "%2a", "*", "a" * 32 + "%00",
       "A" * 32, "a" * 31, "a" * 33, "%", "%zz", "%25%61", "..%5c", "a" * 32 + "/../" + "b" * 32, "0" * 32]


def framing(tap, driver):
    for name, (request, right) in FRAMING.items():
        answer = driver.talk(request, until_close=answer_ends(request))
        tap.check(f"H2 {name} is refused", answer.status in right,
                  f"{answer.status} after {answer.seconds:.2f} s: {answer.raw[:200]!r}")
        tap.check(f"H2 {name} has one answer, a problem document",
                  len(re.findall(rb"HTTP/1\.1 \d", answer.raw)) == 1 and
                  answer.headers.get("content-type") == "application/problem+json" and
                  answer.json()["status"] == answer.status, repr(answer.raw[:300]))


def answer_ends(request):
    """A request that is refused for its framing also ends the connection."""
    return not request.startswith((b"BREW",))


def documents(tap, driver):
    for name, (body, field) in DOCUMENTS.items():
        answer = driver.post(body)
        problem = answer.json()
        tap.check(f"H3 {name} is 400", answer.status == 400, repr(answer.raw[:300]))
        tap.check(f"H3 {name}: the field is named", field is None or problem.get("field", "") == field,
                  f"{problem.get('field')!r} instead of {field!r}: {problem['detail']}")
    tap.check("H3 another type is 415", driver.post(JOB, kind="text/plain").status == 415)
    tap.check("H3 an unknown parameter is 400", driver.post(JOB, "/v1/jobs?wiat=1").status == 400)
    tap.check("H3 a doubled parameter is 400", driver.post(JOB, "/v1/jobs?wait=1&wait=1").status == 400)
    for value in ("-1", "61", "1.5", "0x1", "", "%31%00", "+1"):
        tap.check(f"H3 wait={value} is 400", driver.post(JOB, f"/v1/jobs?wait={value}").status == 400)
    tap.check("H3 a good one is accepted", driver.post(JOB).status == 202)


def ids(tap, driver):
    for text in IDS:
        for path in (f"/v1/jobs/{text}", f"/v1/jobs/{text}/stdout", f"/v1/jobs/{text}/outputs/x"):
            answer = driver.get(path)
            tap.check(f"H4 GET {path} is not found", answer.status in (404, 400), repr(answer.raw[:200]))
        tap.check(f"H4 DELETE of {text} is not found", driver.delete(f"/v1/jobs/{text}").status == 404)
    job = driver.post(JOB, "/v1/jobs?wait=5").json()["id"]
    base = f"/v1/jobs/{job}/outputs"
    tap.check("H4 an output is found", driver.get(f"{base}/answer.txt").body == b"0123456789")
    tap.check("H4 ... also with its letters encoded", driver.get(f"{base}/%61nswer%2etxt").status == 200)
    for name in ("../stdout", "%2e%2e/stdout", "..%2fstdout", "%2fetc%2fpasswd", "/etc/passwd", ".", "",
                 "answer.txt/", "answer.txt%00", "%252e%252e/stdout", "answer.txt/..", "x" * 5000):
        answer = driver.get(f"{base}/{name}")
        tap.check(f"H4 the output '{name[:20]}' is not found", answer.status == 404, repr(answer.raw[:200]))


def hosts(tap, driver):
    for host, right in (("localhost", 200), ("127.0.0.1", 200), ("LOCALHOST:80", 200), ("[::1]", 200),
                        ("jobs.example", 200), ("evil.example", 421), ("localhost.evil.example", 421),
                        ("127.0.0.1.nip.io", 421), ("localhost:x", 400), ("localhost:99999", 400), ("", 421),
                        ("[::1", 400), ("[::1]evil", 400)):
        answer = driver.talk(f"GET /v1/jobs HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        tap.check(f"H8 Host '{host}' is {right}", answer.status == right, repr(answer.raw[:200]))
    tap.check("H8 over a unix socket any Host is fine", driver.talk(
        b"GET /v1/jobs HTTP/1.1\r\nHost: anything\r\n\r\n", unix=True).status == 200)
    answer = driver.post(JOB, extra="Origin: http://evil.example\r\n")
    tap.check("H8 a page of another site is refused", answer.status == 403, repr(answer.raw[:200]))
    tap.check("H8 ... also one without an origin", driver.get("/healthz", "Origin: null\r\n").status == 403)
    tap.check("H8 nobody is told that a browser may read answers",
              b"access-control" not in answer.raw.lower())


def large(tap, driver):
    answer = driver.talk(length(b"1099511627776", b""))
    tap.check("H7 1 TiB is 413 before a byte of it", answer.status == 413 and answer.seconds < 1)
    answer = driver.talk(length(b"99999999", b"", b"Expect: 100-continue\r\n"))
    tap.check("H7 100 MB of JSON is 413, not 100", answer.status == 413, repr(answer.raw[:100]))
    many = CHUNKED + (b"10000\r\n" + b"x" * 65536 + b"\r\n") * 40
    answer = driver.talk(many, until_close=True)
    tap.check("H7 chunks are counted: 413", answer.status == 413, repr(answer.raw[:200]))
    s = driver.connect()
    s.sendall(length(GOOD, b"", b"Expect: 100-continue\r\n"))
    first = s.recv(1000)
    tap.check("H7 a body that may come is asked for", first.startswith(b"HTTP/1.1 100 "), repr(first))
    tap.check("H7 ... and then taken", driver.talk(JOB, sock=s).status == 202)
    s.close()


def slow(tap, program):
    with Driver(program, head_ms=600, body_ms=900, idle_ms=800) as driver:
        s = driver.connect()
        begun = time.monotonic()
        try:
            for byte in HEALTH * 4:
                s.sendall(bytes([byte]))
                time.sleep(0.05)
        except OSError:
            pass
        took = time.monotonic() - begun
        s.close()
        tap.check("H1 a head of one byte now and then ends by an absolute deadline", took < 2.5, f"{took}")
        s = driver.connect()
        begun = time.monotonic()
        s.sendall(length(b"1000", b""))
        try:
            for _ in range(100):
                s.sendall(b" ")
                time.sleep(0.05)
        except OSError:
            pass
        took = time.monotonic() - begun
        s.close()
        tap.check("H1 a body of one byte now and then as well", took < 2.5, f"{took}")
        answer = driver.talk(BASE, until_close=True)
        tap.check("H1 half a head is told 408", answer.status == 408 and answer.seconds < 2)
        answer = driver.talk(length(b"100", b"x"), until_close=True)
        tap.check("H1 half a body is told 408", answer.status == 408 and answer.seconds < 2)
        answer = driver.talk(b"", until_close=True)
        tap.check("H1 silence is closed", answer.status == 0 and answer.seconds < 2, f"{answer.seconds}")
        s = driver.connect()
        driver.talk(HEALTH + b"\r\n", sock=s)
        answer = driver.talk(b"", sock=s, until_close=True)
        s.close()
        tap.check("H1 an idle connection is closed", answer.status == 0 and 0.4 < answer.seconds < 2)
        answer = driver.talk(length(b"100", b"x"), half=True)
        tap.check("H1 half a body and the end is closed at once", answer.seconds < 0.5)


def many(tap, program):
    with Driver(program, connections=2300) as driver:
        before = driver.open_files()
        idle = [driver.connect() for _ in range(2000)]
        times = []
        for _ in range(50):
            answer = driver.get("/healthz")
            times.append(answer.seconds if answer.status == 200 else 99)
        tap.check("H5 with 2000 idle connections health answers", max(times) < 0.5, f"{max(times)}")
        rss = driver.rss_kib()
        tap.check_memory("H5 an idle connection costs little memory", rss, 64 * 1024, driver.sanitized)
        for s in idle:
            s.close()
        ok, last = settles(driver.open_files, lambda n: n <= before)
        tap.check("H5 descriptors come back", ok, f"{before} before, {last} after")
    with Driver(program, connections=20, per_address=0) as driver:
        idle = [driver.connect() for _ in range(60)]
        answer = driver.get("/healthz")
        tap.check("H5 beyond the limit whoever idles longest makes room", answer.status == 200)
        for s in idle:
            s.close()
    with Driver(program, per_address=5) as driver:
        idle = [driver.connect() for _ in range(5)]
        time.sleep(0.2)
        tap.check("H5 one address has its limit", driver.get("/healthz").status == 0)
        tap.check("H5 ... not one over a unix socket", driver.get("/healthz", unix=True).status == 200)
        for s in idle:
            s.close()


def settles(look, right, seconds=15):
    """Whether what look() answers becomes right, and what it was at last."""
    deadline = time.monotonic() + seconds
    while not right(last := look()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return right(last), str(last)


def vanish(tap, program):
    with Driver(program) as driver:
        for way in ("/v1/jobs/%s?wait=60", "/v1/jobs/%s/events"):
            job = driver.post(b'{"language":"python","code":"hang"}').json()["id"]
            for _ in range(20):
                s = driver.connect()
                s.sendall(f"GET {way % job} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                s.close()
        ok, last = settles(lambda: connections(driver), lambda n: n <= 1)
        tap.check("H6 who is gone before the request was read is not waited for", ok, last)
    with Driver(program, heartbeat_ms=200) as driver:
        before = driver.open_files()
        whole = length(GOOD)
        for cut in range(0, len(whole), 7):
            s = driver.connect()
            s.sendall(whole[:cut])
            s.close()
        hang = driver.post(b'{"language":"python","code":"hang"}').json()["id"]
        for request in (f"GET /v1/jobs/{hang}/events", f"GET /v1/jobs/{hang}?wait=60",
                        "POST /v1/jobs?wait=60"):
            for _ in range(20):
                s = driver.connect()
                body = b'{"language":"python","code":"hang"}' if "POST" in request else b""
                s.sendall(f"{request} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                          f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
                time.sleep(0.005)
                s.close()
        jobs = driver.get("/v1/jobs?state=running&limit=200").json()["jobs"]
        for job in jobs:
            driver.delete(f"/v1/jobs/{job['id']}")
        ok, last = settles(lambda: connections(driver), lambda n: n <= 1)
        tap.check("H6 clients that go away in any phase leave no connection", ok, last)
        kept = sum(os.path.isdir(os.path.join(driver.directory, n)) for n in os.listdir(driver.directory))
        ok, last = settles(driver.open_files, lambda n: n <= before + 4 * kept + 3)
        tap.check("H6 ... and no descriptor but those of jobs", ok, f"{before} {last} {kept}")
        tap.check("H6 a job whose client went away goes on", driver.post(JOB, "/v1/jobs?wait=5").json()[
            "state"] == "ended")


def connections(driver):
    text = driver.get("/metrics").body.decode()
    return int([line for line in text.split("\n") if line.startswith("airlock_http_connections ")][0].split()[1])


def stall(tap, program):
    """A reader of events that never reads."""
    with Driver(program, stall_ms=700, heartbeat_ms=100) as driver:
        big = b'{"language":"python","code":"' + b"x" * 8000000 + b'"}'
        job = driver.post(big, "/v1/jobs?wait=10").json()["id"]
        rss = driver.rss_kib()
        readers = []
        for path in ("events", "stdout") * 10:
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.connect(("127.0.0.1", driver.port))
            s.sendall(f"GET /v1/jobs/{job}/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            readers.append(s)
        time.sleep(0.4)
        grown = driver.rss_kib() - rss
        tap.check_memory("O16 readers that never read hold no memory of the daemon", grown, 20 * 1024,
                         driver.sanitized)
        tap.check("O16 ... and nobody waits for them", driver.get("/healthz").seconds < 0.3)
        ok, last = settles(lambda: connections(driver), lambda n: n == 1)
        tap.check("O16 ... and are closed after the stated time", ok, last)
        for s in readers:
            s.close()
        whole = driver.get(f"/v1/jobs/{job}/stdout")
        tap.check("O16 who reads gets every byte", len(whole.body) == 8000000, f"{len(whole.body)}")


def held(tap, program):
    """Large answers that nobody reads: 1 MB of control characters is 6 MB of JSON."""
    with Driver(program, replies_bytes=40000000) as driver:
        body = b'{"language":"python","code":"' + b"\\u0001" * 1000000 + b'"}'
        job = driver.post(body, "/v1/jobs?wait=10").json()["id"]
        whole = driver.get(f"/v1/jobs/{job}").json()["result"]["stdout"]
        tap.check("O16 a large result comes whole", whole["data"] == "\x01" * 1000000)
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", driver.port))
        s.sendall(f"GET /v1/jobs/{job} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        time.sleep(0.3)
        answer = driver.get(f"/v1/jobs/{job}")
        tap.check("O16 beside one that is not read it comes without its streams", answer.status == 200 and
                  answer.json()["result"]["stdout"]["data"] is None, repr(answer.raw[:200]))
        text = driver.get(f"/v1/jobs/{job}/events").body
        tap.check("O16 ... so it does as an event", b'"data":null' in text.split(b"event: result")[1][:2000])
        tap.check("O16 ... and the stream itself whole",
                  driver.get(f"/v1/jobs/{job}/stdout").body == b"\x01" * 1000000)
        s.close()
        ok, _ = settles(lambda: driver.get(f"/v1/jobs/{job}").json()["result"]["stdout"]["data"],
                        lambda data: data is not None)
        tap.check("O16 when that one is gone it comes whole again", ok)


def waits(tap, program):
    """One tenant can't take all connections."""
    with Driver(program, waits=3, tokens=1) as driver:
        a, b = "Authorization: Bearer alk_a\r\n", "Authorization: Bearer alk_b\r\n"
        job = driver.post(b'{"language":"python","code":"hang"}', extra=a).json()["id"]
        readers = [driver.connect() for _ in range(3)]
        for s in readers:
            s.sendall(f"GET /v1/jobs/{job}/events HTTP/1.1\r\nHost: localhost\r\n{a}\r\n".encode())
        time.sleep(0.2)
        accepted = len(driver.get("/v1/jobs", a).json()["jobs"])
        answer = driver.post(JOB, "/v1/jobs?wait=5", a)
        tap.check("U4 a tenant has so many requests that wait, then 429", answer.status == 429 and
                  answer.headers["retry-after"] == "1", repr(answer.raw[:200]))
        tap.check("U4 ... and no job was accepted with it",
                  len(driver.get("/v1/jobs", a).json()["jobs"]) == accepted)
        tap.check("U4 ... without waiting it goes on", driver.post(JOB, extra=a).status == 202)
        tap.check("U4 ... and so does another", driver.post(JOB, "/v1/jobs?wait=5", b).status == 200)
        for s in readers:
            s.close()
        ok, last = settles(lambda: driver.post(JOB, "/v1/jobs?wait=5", a).status, lambda status: status == 200)
        tap.check("U4 ... and room comes back", ok, last)


def log(tap, program):
    with Driver(program, debug=1) as driver:
        for hostile in ("a%0Atime=0", "a%22%20level=error", "%1b%5b31m", "x" * 9000):
            driver.get(f"/v1/jobs/{hostile}")
            driver.get("/v1/jobs", f"Idempotency-Key: {hostile}\r\nUser-Agent: evil level=error\r\n")
        driver.post(b'{"language":"python","code":"secret-of-a-user"}', "/v1/jobs?wait=5")
        driver.talk(b"GET / HTTP/1.1\r\nA: \x1b[31m\nlevel=error\r\n\r\n")
        driver.log.flush()
        with open(os.path.join(driver.directory, "log"), "rb") as f:
            lines = f.read().split(b"\n")[:-1]
        tap.check("H11 every line of the log is one of ours", len(lines) > 8 and all(
            re.fullmatch(rb"time=[0-9T:.Z-]+ level=(debug|info|warning|error) event=[a-z-]+( [ -~]*)?", line)
            for line in lines), repr(lines[:3]))
        tap.check("H11 no bytes of a user are in it",
                  not any(word in line for line in lines for word in (b"secret", b"evil", b"31m", b"xxx")))


def results(tap, driver):
    key = "Idempotency-Key: once\r\n"
    one = driver.post(JOB, "/v1/jobs?wait=5", key)
    two = driver.post(JOB, extra=key)
    tap.check("H9 the same key with the same body is the same job",
              one.status == 200 and two.status == 200 and one.json()["id"] == two.json()["id"])
    tap.check("H9 with another body it is 422", driver.post(JOB + b" ", extra=key).status == 422)
    tap.check("H9 a key of 129 characters is 400",
              driver.post(JOB, extra=f"Idempotency-Key: {'k' * 129}\r\n").status == 400)
    job = one.json()["id"]
    tap.check("H10 a result can be fetched twice",
              driver.get(f"/v1/jobs/{job}").body == driver.get(f"/v1/jobs/{job}").body)
    hang = driver.post(b'{"language":"python","code":"hang"}').json()["id"]
    tap.check("H10 before the end there is none", driver.get(f"/v1/jobs/{hang}").json()["result"] is None)
    tap.check("H10 data of a job that runs is not removed", driver.delete(f"/v1/jobs/{hang}/data").status == 409)
    tap.check("H10 a job that ended is not canceled", driver.delete(f"/v1/jobs/{job}").status == 409)
    tap.check("H10 one that runs is", driver.delete(f"/v1/jobs/{hang}").json()["verdict"] == "canceled")
    tap.check("H10 data can be removed", driver.delete(f"/v1/jobs/{job}/data").status == 204)
    tap.check("H10 ... then the job has no result", driver.get(f"/v1/jobs/{job}").json()["result"] is None)
    tap.check("H10 ... and no stream", driver.get(f"/v1/jobs/{job}/stdout").status == 404)


def pipelined(tap, driver):
    answer = driver.talk((HEALTH + b"\r\n") * 3 + HEALTH + b"Connection: close\r\n\r\n", until_close=True)
    tap.check("H2 requests in one packet are answered one by one", answer.raw.count(b"HTTP/1.1 200 ") == 4)
    answer = driver.talk(length(GOOD) + b"GET /healthz HTTP/1.1\nHost: x\n\n", until_close=True)
    tap.check("H2 a bad request behind a good one is refused behind its answer",
              answer.raw.index(b"HTTP/1.1 202 ") < answer.raw.index(b"HTTP/1.1 400 "))


def main():
    program = sys.argv[1]
    tap = Tap()
    with Driver(program, host="jobs.example", body_bytes=2000000) as driver:
        before = (driver.open_files(), driver.rss_kib())
        for part in (framing, documents, ids, hosts, large, pipelined, results):
            part(tap, driver)
        tap.check("every test later the daemon lives", driver.get("/healthz").status == 200)
        grown = driver.rss_kib() - before[1]
        tap.check_memory("... and has not grown much", grown, 32 * 1024, driver.sanitized)
    for part in (slow, many, vanish, stall, held, waits, log):
        part(tap, program)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
