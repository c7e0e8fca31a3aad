"""What stays of a job: its record, without data of the user, whatever ends the job."""
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import time

from cases_host import children_of, supervisor_of
from harness import AIRLOCK, Fail, case, own_processes

SECRETS = ["argument-secret", "environment-secret", "input-secret", "input-name", "stdout-secret",
           "stderr-secret", "output-secret", "output-name", "stdin-secret", "ENV_NAME"]
CHECKS = {"monitor_reaped", "files_unnamed", "no_processes_left", "control_group_gone",
          "no_mounts_left", "descriptors_closed", "no_staging_left", "slot_released"}


def records(t, state, *args):
    done = subprocess.run([str(AIRLOCK), "records", *args, "--state", str(state)], check=False,
                          capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode()


def show(t, state, prefix):
    code, out, err = records(t, state, "show", "--json", prefix)
    t.equal(code, 0, f"exit code of records show ({err})")
    return json.loads(out)


def listed(t, state):
    code, out, err = records(t, state, "list", "--json")
    t.equal(code, 0, f"exit code of records list ({err})")
    return json.loads(out)


@case("a record has the evidence of a job and none of its data")
def evidence(t):
    state = t.private_state()
    program = ("import sys\nsys.stdin.read()\nprint('stdout-secret')\nprint('stderr-secret', file=sys.stderr)\n"
               "open('/out/output-name', 'w').write('output-secret')\n")
    result = t.run(program, "--env", "ENV_NAME=environment-secret", args=["argument-secret"],
                   files={"input-name": b"input-secret"}, stdin=b"stdin-secret", out=True, state=state)
    t.expect(result, "success")
    text = next((state / "records").glob("*.json")).read_text(encoding="ascii")
    for secret in SECRETS:
        t.true(secret not in text, f"the record holds '{secret}': {text}")
    record = show(t, state, result.machine["id"][:8])
    t.equal(record["id"], result.machine["id"], "id")
    for field in ("verdict", "reason", "exit_code", "signal", "limits", "machine", "phases"):
        t.equal(record[field], result.doc[field], field)
    t.equal(set(record["cleanup"]["checks"]), CHECKS, "checks")
    t.equal((record["state"], record["written_by"]), ("finished", "supervisor"), "state, written by")
    t.true(record["cleanup"]["verified"] is True and result.cleanup["verified"] is True, "verified")
    sizes = [record["inputs"][0], record["outputs"][0], record["stdin"]]
    t.equal([(s["bytes"], s["digest"]) for s in sizes],
            [(len(d), "sha256:" + hashlib.sha256(d).hexdigest())
             for d in (b"input-secret", b"output-secret", b"stdin-secret")], "sizes and digests")
    t.equal(record["stdout"]["bytes"], len("stdout-secret\n"), "bytes of stdout")


@case("the digest of a job is the same for the same job and changes with it")
def spec_digest(t):
    state = t.private_state()
    runs = [t.run("print(1)\n", "--env", f"K={value}", args=args, state=state)
            for value, args in (("one", []), ("two", []), ("two", ["x"]))]
    digests = [show(t, state, r.machine["id"])["spec"]["digest"] for r in runs]
    t.true(digests[0] is not None and digests[0] == digests[1], f"digests {digests}")
    t.true(digests[2] != digests[0], f"another argument, the same digest: {digests}")


@case("rejected jobs and those without room are on record too")
def not_started(t):
    state = t.private_state()
    os.mkfifo(t.path("fifo"))
    t.expect(t.run("print(1)\n", "--in", t.path("fifo"), state=state), ("rejected", "capacity_rejected"))
    t.expect(t.run("print(1)\n", "--memory", "64G", state=state), "capacity_rejected")
    found = listed(t, state)["records"]
    t.equal([r["verdict"] for r in found][0], "capacity_rejected", "verdict of the last")
    t.equal(len(found), 2, "records")
    t.true(all(r["cleanup"] is True and r["state"] == "finished" for r in found), f"records {found}")


@case("a text that steers terminals is not printed from a record")
def hostile_record(t):
    state = t.private_state()
    (state / "records").mkdir(mode=0o700)
    name = "ab" * 16
    (state / "records" / f"{name}.json").write_text(
        json.dumps({"record": 1, "verdict": "\x1b]0;owned\x07\u202e", "state": "x" * 5000,
                    "reason": ["not", "a", "string"]}, ensure_ascii=False), encoding="utf-8")
    (state / "records" / ("cd" * 16 + ".json")).write_bytes(b"\x00\x1b[2J")
    os.mkfifo(state / "records" / ("ef" * 16 + ".json"))
    for args in (["list"], ["list", "--json"], ["show", name], ["show", "--json", name]):
        code, out, err = records(t, state, *args)
        t.equal(code, 0, f"exit code of {args} ({err})")
        t.true(b"\x1b" not in out and "\u202e".encode() not in out, f"{args}: {out!r}")
    t.true(b"damaged" in records(t, state, "list")[1], "a damaged record is not told")
    t.equal(records(t, state, "show", "cd")[0], 1, "exit code for a damaged record")
    t.equal([records(t, state, "show", p)[0] for p in ("", "xyz", "12", "../x")], [2] * 4,
            "exit codes for ids that are none")


def killed(name, whom):
    @case(name, alone=True)
    def check(t):
        state = t.private_state()
        child = t.start_and_wait("import time\nprint('ready', flush=True)\ntime.sleep(600)\n", state=state)
        supervisor = supervisor_of(child)
        t.true(supervisor is not None, "no supervisor of the job was found")
        if "airlock-reap" in whom:
            reapers = [p for p, name in own_processes() if name == "airlock-reap" and p in children_of(supervisor)]
            t.equal(len(reapers), 1, "reapers of the job")
            os.kill(reapers[0], signal.SIGKILL)
        os.kill(supervisor, signal.SIGKILL)
        child.wait(30)
        t.wait_gone(t.dir, 15)
        if "airlock-reap" in whom:
            t.expect(t.run("print(1)\n", state=state), "success")
        end = time.monotonic() + 5
        while True:
            lost = [r for r in listed(t, state)["records"] if r["verdict"] == "sandbox_failure"]
            if lost and (lost[0]["cleanup"] is True or time.monotonic() > end):
                break
            if time.monotonic() > end:
                raise Fail(f"no record of the lost job: {listed(t, state)}")
            time.sleep(0.1)
        t.equal([(r["reason"], r["state"]) for r in lost], [("supervisor_lost", "lost")], "the record")
        record = show(t, state, lost[0]["id"])
        t.equal(record["written_by"], "next start" if "airlock-reap" in whom else "reaper", "written by")
        t.true(record["cleanup"]["checks"]["control_group_gone"], f"cleanup {record['cleanup']}")
        t.equal([p.name for p in (state / "slots").iterdir() if p.name != "lock"], [], "slots")
    return check


killed("a killed supervisor's job is on record as lost, by its reaper", {"airlock-sup"})
killed("a job whose supervisor and reaper were killed is on record by the next start",
       {"airlock-sup", "airlock-reap"})


@case("what the cleanup leaves is loud, and its slot is out of use until it is released", root=True)
def unverified(t):
    state = t.private_state()
    out = t.path("out")
    out.mkdir()
    # Its name is known once the slot is taken. A job that fails exports nothing, and so removes nothing.
    child = t.start(t.command("--out", out, program="raise SystemExit(3)\n", state=state))
    end = time.monotonic() + 60
    job = None
    while job is None and time.monotonic() < end:
        found = list((state / "slots").glob("[0-9]*"))
        lines = found[0].read_text(encoding="ascii").split("\n") if found else []
        job = next((line[3:] for line in lines if line.startswith("id=")), None)
    t.true(job, "no slot was taken")
    (out / f".airlock-{job}").symlink_to("/nowhere")
    raw, err = child.communicate(timeout=120)
    result = json.loads(raw)
    t.equal(result["verdict"], "user_exception", "verdict")
    t.equal(result["cleanup"]["verified"], False, f"verified ({result['cleanup']}, {err!r})")
    t.true("no_staging_left" in result["cleanup"]["failures"], f"failures {result['cleanup']}")
    t.equal(show(t, state, job)["cleanup"]["verified"], False, "verified, in the record")
    t.true(b"NOT VERIFIED" in records(t, state, "list")[1], "the list says nothing of it")
    kept = listed(t, state)["quarantine"]
    t.equal([(q["slot"], q["id"]) for q in kept], [(int(found[0].name), job)], "quarantine")

    os.unlink(out / f".airlock-{job}")
    t.expect(t.run("print(1)\n", state=state), "success")
    t.true(found[0].exists() and found[0].stat().st_size > 0, "the slot was used again")
    t.equal(records(t, state, "release", found[0].name)[0], 0, "exit code of release")
    t.equal(records(t, state, "release", found[0].name)[0], 2, "exit code of a second release")
    t.expect(t.run("print(1)\n", state=state), "success")
    t.equal(listed(t, state)["quarantine"], [], "quarantine")
    t.equal([p.name for p in pathlib.Path(state / "slots").glob("[0-9]*")], [], "slots")
