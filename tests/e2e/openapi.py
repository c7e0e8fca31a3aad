#!/usr/bin/python3
"""The document that /openapi.json gives is the one that requests and answers keep.

tests/e2e/openapi.py HTTP-DRIVER      TAP on stdout; needs python3-jsonschema
"""
import json
import pathlib
import re
import sys

import jsonschema
from http_wire import JOB, Driver, Tap

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MULTIPART = (b'--b\r\nContent-Disposition: form-data; name="job"\r\n\r\n' + JOB +
             b'\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello\r\n--b--\r\n')

# documents of jobs: what the server says of them the schema must say too
GOOD = [
    {"language": "python", "code": ""},
    {"language": "javascript", "code_base64": "eA=="},
    {"image": "python", "command": ["python3", "-V"]},
    {"language": "python", "code": "x", "args": ["a"], "env": {"A": "b"}, "stdin": "s", "priority": 0,
     "deadline_ms": 1, "files": [{"name": "a", "content": ""}, {"name": "b", "content_base64": "eA=="}],
     "limits": {"wall_ms": 1, "memory_bytes": 33554432, "vcpus": 8}, "contract": "files", "engine": "auto",
     "isolation": "emulated", "root": True, "cold_interpreter": False},
    {"language": "javascript", "code": "x", "program_name": "main.mjs"},
    {"language": "python", "code": "x", "program_name": "main.py"},
    {"language": "python", "image": "python", "code": "x", "stdin_base64": "", "priority": 9},
]
BAD = [
    {}, [], None, "x", {"language": "python"}, {"code": "x"}, {"language": "ruby", "code": "x"},
    {"language": "python", "code": 1}, {"language": "python", "code": "x", "code_base64": "eA=="},
    {"language": "python", "code": "x", "stdin": "a", "stdin_base64": "eA=="},
    {"image": "python", "command": ["x"], "args": []}, {"image": "python", "command": ["x"], "code": "x"},
    {"image": "python", "command": ["x"], "language": "python"},
    {"language": "python", "code": "x", "program_name": "main.js"},
    {"language": "javascript", "code": "x", "program_name": "main.py"},
    {"image": "python", "command": ["x"], "program_name": "main.py"},
    {"command": ["x"]}, {"language": "python", "code": "x", "more": 1},
    {"language": "python", "code": "x", "priority": 10}, {"language": "python", "code": "x", "priority": -1},
    {"language": "python", "code": "x", "priority": "5"}, {"language": "python", "code": "x", "deadline_ms": 0},
    {"language": "python", "code": "x", "deadline_ms": 99999999999999},
    {"language": "python", "code": "x", "limits": {"wall_ms": 0}},
    {"language": "python", "code": "x", "limits": {"luck": 1}},
    {"language": "python", "code": "x", "limits": {"vcpus": 9}},
    {"language": "python", "code": "x", "limits": []},
    {"language": "python", "code": "x", "env": {"A": 1}}, {"language": "python", "code": "x", "root": "yes"},
    {"language": "python", "code": "x", "engine": "qemu"}, {"language": "python", "code": "x", "isolation": "none"},
    {"language": "python", "code": "x", "files": [{"name": "a"}]},
    {"language": "python", "code": "x", "files": [{"name": "a/b", "content": ""}]},
    {"language": "python", "code": "x", "files": [{"name": "a", "content": "", "mode": 1}]},
    {"language": "python", "code": "x", "files": [{"name": "a", "content": "", "content_base64": ""}]},
]


class Document:
    def __init__(self, document):
        self.root = document

    def resolve(self, node):
        while "$ref" in node:
            at = self.root
            for part in node["$ref"][2:].split("/"):
                at = at[part]
            node = at
        return node

    def errors(self, schema, value):
        # the components stand beside, so that references resolve
        whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": self.root["components"],
                 **schema}
        return [e.message for e in jsonschema.Draft202012Validator(whole).iter_errors(value)]

    def answer_errors(self, operation, answer):
        """What is wrong with an answer by this description of it."""
        response = operation["responses"].get(str(answer.status))
        if response is None:
            return [f"status {answer.status} is not described"]
        response = self.resolve(response)
        bad = [f"no header {name}" for name in response.get("headers", {})
               if name.lower() not in answer.headers and name != "Retry-After"]
        kind = answer.headers.get("content-type", "").split(";")[0]
        content = response.get("content", {})
        if not content:
            return bad + (["a body that is not described"] if answer.body else [])
        if kind not in content:
            return bad + [f"type {kind!r} is not described"]
        if kind.endswith("json"):
            bad += self.errors(content[kind]["schema"], answer.json())
        return bad


def answers(tap, document, driver):
    """Every operation once with its good answer, and what else is easily had."""
    job = driver.post(JOB, "/v1/jobs?wait=5")
    j = job.json()["id"]
    key = "Idempotency-Key: k\r\n"
    none = "0" * 32
    hang = driver.post(b'{"language":"python","code":"hang"}').json()["id"]
    seen = set()

    def check(method, template, answer, status):
        operation = document.root["paths"][template][method]
        bad = document.answer_errors(operation, answer)
        seen.add((method, template))
        tap.check(f"{method.upper()} {template} {status} is as described", answer.status == status and not bad,
                  f"{answer.status} {bad[:3]} {answer.raw[:300]!r}")

    check("post", "/v1/jobs", job, 200)
    check("post", "/v1/jobs", driver.post(JOB, extra=key), 202)
    check("post", "/v1/jobs", driver.post(MULTIPART, kind="multipart/form-data; boundary=b"), 202)
    check("post", "/v1/jobs", driver.post(JOB + b" ", extra=key), 422)
    check("post", "/v1/jobs", driver.post(b"{}"), 400)
    check("post", "/v1/jobs", driver.post(JOB, kind="text/html"), 415)
    check("post", "/v1/jobs", driver.talk(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
                                          b"Content-Length: 999999999999\r\n\r\n"), 413)
    check("post", "/v1/jobs", driver.post(JOB, extra="Origin: http://x\r\n"), 403)
    check("get", "/v1/jobs", driver.get("/v1/jobs?limit=1"), 200)
    check("get", "/v1/jobs", driver.get("/v1/jobs?state=ended&verdict=success&limit=200"), 200)
    check("get", "/v1/jobs", driver.get("/v1/jobs?limit=0"), 400)
    check("get", "/v1/jobs", driver.talk(b"GET /v1/jobs HTTP/1.1\r\nHost: evil\r\n\r\n"), 421)
    for rest, good in (("", 200), ("/stdout", 200), ("/stderr", 200), ("/record", 200), ("/events", 200)):
        template = "/v1/jobs/{id}" + rest
        check("get", template, driver.get(f"/v1/jobs/{j}{rest}"), good)
        check("get", template, driver.get(f"/v1/jobs/{none}{rest}"), 404)
    check("get", "/v1/jobs/{id}", driver.get(f"/v1/jobs/{hang}?wait=1"), 200)
    output = "/v1/jobs/{id}/outputs/{name}"
    check("get", output, driver.get(f"/v1/jobs/{j}/outputs/answer.txt"), 200)
    check("get", output, driver.get(f"/v1/jobs/{j}/outputs/answer.txt", "Range: bytes=-3\r\n"), 206)
    check("get", output, driver.get(f"/v1/jobs/{j}/outputs/answer.txt", "Range: bytes=99-\r\n"), 416)
    check("get", output, driver.get(f"/v1/jobs/{j}/outputs/nothing"), 404)
    check("delete", "/v1/jobs/{id}/data", driver.delete(f"/v1/jobs/{hang}/data"), 409)
    check("delete", "/v1/jobs/{id}", driver.delete(f"/v1/jobs/{hang}"), 200)
    check("delete", "/v1/jobs/{id}", driver.delete(f"/v1/jobs/{hang}"), 409)
    check("delete", "/v1/jobs/{id}/data", driver.delete(f"/v1/jobs/{j}/data"), 204)
    check("delete", "/v1/jobs/{id}/data", driver.delete(f"/v1/jobs/{none}/data"), 404)
    for path in ("/v1/images", "/v1/capacity", "/healthz", "/readyz", "/metrics", "/openapi.json"):
        check("get", path, driver.get(path), 200)
    check("get", "/metrics", driver.get("/metrics?x=1"), 400)
    all_of = {(m, t) for t, item in document.root["paths"].items() for m in item if m != "parameters"}
    tap.check("every operation was asked", seen == all_of, f"{all_of - seen}")


def events(tap, document, driver):
    job = driver.post(JOB, "/v1/jobs?wait=5").json()["id"]
    text = driver.get(f"/v1/jobs/{job}/events").body.decode()
    names = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        names.append(fields["event"])
        schema = {"state": "StateEvent", "stdout": "DataEvent", "stderr": "DataEvent", "result": "JobResult"}
        bad = document.errors({"$ref": f"#/components/schemas/{schema[fields['event']]}"},
                              json.loads(fields["data"]))
        tap.check(f"the event {fields['event']} {fields['id']} is as described", not bad, f"{bad}")
    tap.check("events come in order and end with the result",
              names == ["state", "state", "stdout", "state", "result"], f"{names}")
    resumed = driver.get(f"/v1/jobs/{job}/events", "Last-Event-ID: 3\r\n").body.decode()
    tap.check("a stream resumes behind an event", resumed.startswith("id: 4\n"), resumed[:100])
    tap.check("... also by parameter", driver.get(f"/v1/jobs/{job}/events?after=4").body.startswith(b"id: 5\n"))


def jobs(tap, document, driver):
    schema = {"$ref": "#/components/schemas/JobRequest"}
    for i, value in enumerate(GOOD):
        answer = driver.post(json.dumps(value).encode())
        bad = document.errors(schema, value)
        tap.check(f"good job {i} is good by document and server", answer.status == 202 and not bad,
                  f"{answer.raw[-300:]!r} {bad}")
    for i, value in enumerate(BAD):
        answer = driver.post(json.dumps(value).encode())
        bad = document.errors(schema, value)
        tap.check(f"bad job {i} is bad by document and server", answer.status == 400 and bad,
                  f"{json.dumps(value)}: {answer.status} {bad}")


def words(tap, document, program):
    """What the document repeats of the sources."""
    routes = re.findall(r'^    \{"(\w+)", "(/[^"]*)"', (SOURCE / "src/daemon/route.c").read_text("utf-8"), re.M)
    described = {(m.upper(), t) for t, item in document.root["paths"].items() for m in item if m != "parameters"}
    tap.check("the document has every route and no other", set(routes) == described,
              f"{set(routes) ^ described}")
    keys = set(re.findall(r'^    \{"(\w+)", take_', (SOURCE / "src/job/spec-json.c").read_text("utf-8"), re.M))
    properties = set(document.root["components"]["schemas"]["JobRequest"]["properties"])
    tap.check("the document has every key of a job", keys and properties == keys | {"priority", "deadline_ms"},
              f"{properties ^ keys}")
    limits = document.root["components"]["schemas"]["Limits"]["properties"]
    names = set(re.findall(r'LIMIT\(\w+, "[\w-]+", "(\w+)"', (SOURCE / "src/job/spec.c").read_text("utf-8")))
    tap.check("the document has every limit", names and set(limits) == names, f"{set(limits) ^ names}")
    with Driver(program) as driver:
        for name, limit in limits.items():
            for value, good in ((limit["minimum"], True), (limit["minimum"] - 1, False),
                                (limit["maximum"] + 1, False)):
                body = json.dumps({"language": "python", "code": "", "limits": {name: value}}).encode()
                answer = driver.post(body)
                # the smallest of one may not go with the defaults of others; it is in range then
                problem = answer.json().get("field", "") if answer.status == 400 else ""
                tap.check(f"{name} = {value} is {'in' if good else 'out of'} range by document and server",
                          (problem == f"limits.{name}") == (not good), f"{answer.raw[-300:]!r}")


def main():
    program = sys.argv[1]
    tap = Tap()
    with Driver(program) as driver:
        document = Document(driver.get("/openapi.json").json())
        tap.check("the document is the one of the source",
                  document.root == json.loads((SOURCE / "src/daemon/openapi.json").read_text("utf-8")))
        tap.check("the document is OpenAPI 3.1", document.root["openapi"] == "3.1.0")
        for name, schema in document.root["components"]["schemas"].items():
            try:
                jsonschema.Draft202012Validator.check_schema(schema)
                bad = ""
            except jsonschema.SchemaError as e:
                bad = e.message
            tap.check(f"the schema {name} is a schema", not bad, bad)
        for part in (answers, events, jobs):
            part(tap, document, driver)
    with Driver(program, tokens=1, room=0) as driver:
        answer = driver.post(JOB, extra="Authorization: Bearer alk_a\r\n")
        bad = document.answer_errors(document.root["paths"]["/v1/jobs"]["post"], answer)
        tap.check("a full queue is as described", answer.status == 503 and not bad and
                  answer.headers["retry-after"] == "3" and answer.json()["retry_after_s"] == 3, f"{bad}")
        answer = driver.get("/v1/jobs")
        bad = document.answer_errors(document.root["paths"]["/v1/jobs"]["get"], answer)
        tap.check("a missing token is as described", answer.status == 401 and not bad, f"{bad}")
    words(tap, document, program)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
