#!/usr/bin/python3
"""The commands that talk to a daemon, against one that plays scenes (tests/doubles/fake_airlockd.py).

test_remote.py AIRLOCK

Needs no machine and no daemon; prints TAP.
"""
import grp
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "doubles"))
import fake_airlockd  # noqa: E402  pylint: disable=wrong-import-position

AIRLOCK = os.path.abspath(sys.argv[1])
ID = "0" * 31


class World:
    """A fake daemon, and an empty directory to be in."""

    def __init__(self, path, **fake):
        self.path = pathlib.Path(path)
        self.fake = fake_airlockd.Fake(**fake)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("AIRLOCK_")}
        self.env["AIRLOCK_URL"] = self.fake.url

    def script(self, scene, name="main.py"):
        path = self.path / name
        path.write_text(("# " if name.endswith("py") else "// ") + f"scene: {scene}\n",
                        encoding="utf-8")
        return str(path)

    def run(self, *args, **more):
        more.setdefault("timeout", 50)
        return subprocess.run([AIRLOCK, *args], env={**self.env, **more.pop("env", {})},
                              cwd=self.path, capture_output=True, check=False, **more)

    def wait(self, scene, *options, **more):
        return self.run("submit", "--wait", *options, self.script(scene), **more)

    def tree(self, name="out"):
        root = self.path / name
        return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def submit_prints_the_id_and_leaves(w):
    p = w.run("submit", w.script("wait"))
    assert (p.returncode, p.stdout, p.stderr) == (0, f"{ID}1\n".encode(), b""), p
    p = w.run("submit", "--json", w.script("wait"))
    assert json.loads(p.stdout)["id"] == ID + "2", p


def waiting_looks_as_a_job_of_our_own(w):
    p = w.wait("success")
    assert (p.returncode, p.stdout) == (0, b"hello\n"), p
    assert b"warn\n" in p.stderr and b"airlock: success in " in p.stderr, p
    p = w.wait("success", "--quiet")
    assert (p.stdout, p.stderr) == (b"hello\n", b"warn\n"), p
    p = w.wait("failure")
    assert p.returncode == 1 and b"user_exception: exit code 7" in p.stderr, p
    assert w.wait("failure", "--exit-code", "program").returncode == 7
    assert w.wait("bytes").stdout == b"\0\xff\x1b"


def json_is_the_result_with_its_streams(w):
    p = w.wait("success", "--json", "--quiet")
    value = json.loads(p.stdout)
    assert (p.returncode, p.stderr, value["verdict"]) == (0, b"", "success"), p
    value = json.loads(w.wait("long-stdout", "--json").stdout)
    assert value["stdout"]["data"] == "y" * (2 << 20)


def what_is_sent_is_the_job(w):
    (w.path / "in.bin").write_bytes(b"\0\1")
    p = w.run("submit", "--in", "in.bin:data", "--env", "K=v=w", "--memory", "64M", "--wall", "1500ms",
              "--stdin", "-", "--priority", "9", "--deadline", "1m", "--contract", "json:r.json",
              "--root", "--idempotency-key", "k1", w.script("wait"), "arg", "\u00e9",
              input=b"typed")
    job = w.fake.jobs[-1].request
    parts = {(name, file): data for name, file, data in job.pop("parts")}
    assert p.returncode == 0, p
    assert parts["file", "data"] == b"\0\1" and parts["stdin", None] == b"typed", parts
    assert job == {"language": "python", "code": "# scene: wait\n", "args": ["arg", "\u00e9"],
                   "env": {"K": "v=w"}, "limits": {"wall_ms": 1500, "memory_bytes": 64 << 20},
                   "contract": "json:r.json", "root": True, "priority": 9, "deadline_ms": 60000,
                   "scene": "wait"}, job
    assert w.fake.server.requests[-1][1]["Idempotency-Key"] == "k1"
    w.run("submit", "--in", 'in.bin:a "b" \\ c', w.script("wait"))
    assert w.fake.jobs[-1].request["parts"][1][1] == 'a "b" \\ c', w.fake.jobs[-1].request
    p = w.run("submit", "--in", "in.bin:a\nX", w.script("wait"))
    assert p.returncode == 2 and b"control character" in p.stderr, p
    w.run("submit", "--image", "python", "--", "true", "x")
    job = w.fake.jobs[-1].request
    assert (job["image"], job["command"]) == ("python", ["true", "x"]), job
    w.run("submit", w.script("wait", "main.mjs"))
    assert w.fake.jobs[-1].request["program_name"] == "main.mjs"


def one_key_is_one_job(w):
    first = w.run("submit", "--idempotency-key", "again", w.script("wait")).stdout
    assert w.run("submit", "--idempotency-key", "again", w.script("wait")).stdout == first
    p = w.wait("lost-answer")
    posts = [head["Idempotency-Key"] for path, head, _ in w.fake.server.requests
             if path == "/v1/jobs"][-2:]
    assert p.returncode == 0 and posts[0] == posts[1] and len(w.fake.jobs) == 2, (p, posts)


def outputs_come_all_or_not_at_all(w):
    p = w.wait("outputs", "--out", "out")
    assert p.returncode == 0 and b"3 outputs in out" in p.stderr, p
    assert w.tree() == {"a.txt": b"one", "d/e/b.bin": b"\0" * 70000, "d-e": b""}
    assert w.wait("odd-name", "--out", "odd").returncode == 0
    assert os.listdir(os.fsencode(w.path / "odd")) == [b"\xff"]
    for scene in ("wrong-digest", "longer", "shorter", "missing", "twice", "below-file"):
        p = w.wait(scene, "--out", "bad")
        assert p.returncode == 7 and b"could not be fetched" in p.stderr, (scene, p)
        assert not (w.path / "bad").exists() or not os.listdir(w.path / "bad"), scene


def names_never_leave_the_directory(w):
    for scene in ("climb", "climb-inside", "climb-base64", "absolute", "nul-name", "huge-list",
                  "negative", "no-list"):
        p = w.wait(scene, "--out", "deep/out")
        assert p.returncode == 7 and b"not to be trusted" in p.stderr, (scene, p)
    assert not list(w.path.rglob("climbed")) and not os.path.exists("/tmp/airlock-climbed")


def a_broken_connection_is_taken_up_where_it_broke(w):
    p = w.wait("breaks")
    assert p.stdout == b"".join(b"line %d\n" % i for i in range(6)), p
    lasts = [head.get("Last-Event-ID") for path, head, _ in w.fake.server.requests
             if path.endswith("/events")]
    assert lasts[0] == "0" and lasts == sorted(lasts) and len(set(lasts)) > 2, lasts
    assert w.wait("early-end").stdout == b"again\n"


def broken_streams_end_with_a_reason(w):
    for scene in ("bad-id", "bad-json", "bad-encoding", "bad-base64", "bad-state", "endless-line",
                  "other-job", "odd-verdict", "verdicts-differ", "not-ended", "garbage"):
        p = w.wait(scene)
        assert p.returncode == 7 and b"sandbox_failure: " in p.stderr, (scene, p)
        assert b"daemon" in p.stderr, (scene, p)
    p = w.wait("no-result")
    assert p.returncode == 2 and b"keeps no result" in p.stderr, p


def refusals_are_told_and_harmless(w):
    p = w.wait("refused-field")
    assert p.returncode == 2 and b"limits.pids: must be an integer" in p.stderr, p
    p = w.run("submit", w.script("refused-busy"))
    assert p.returncode == 8 and b"try again in 7 s" in p.stderr, p
    p = w.run("submit", w.script("refused-escape"))
    assert p.returncode == 2 and b"\x1b" not in p.stderr and b"\\x1b[2J" in p.stderr, p
    p = w.run("submit", "--wait", "--json", w.script("refused-busy"))
    assert json.loads(p.stdout)["verdict"] == "capacity_rejected", p


def odd_answers_are_no_job(w):
    for scene in ("no-json", "no-id", "odd-id", "odd-state", "odd-type", "refused-html", "redirect",
                  "long-header"):
        p = w.run("submit", w.script(scene))
        assert p.returncode == 7 and p.stdout == b"", (scene, p)
    assert all(path == "/v1/jobs" for path, _, _ in w.fake.server.requests)


def ctrl_c_cancels_what_is_waited_for(w):
    p = subprocess.Popen([AIRLOCK, "submit", "--wait", w.script("wait")], env=w.env, cwd=w.path,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert p.stdout.readline() == b"started\n"
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=30)
    assert p.returncode == 9 and b"canceled" in err, (p.returncode, err)
    assert w.fake.jobs[0].canceled.is_set()


def a_killed_client_cancels_its_job(w):
    p = subprocess.Popen([AIRLOCK, "submit", "--wait", w.script("wait")], env=w.env, cwd=w.path,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert p.stdout.readline() == b"started\n"
    p.kill()
    assert p.wait() == -signal.SIGKILL
    assert p.stdout.read() == b""  # nobody holds our output
    p.stdout.close()
    assert w.fake.jobs[0].canceled.wait(20)


def watching_leaves_the_job_alone(w):
    w.run("submit", w.script("wait"))
    p = subprocess.Popen([AIRLOCK, "watch", ID + "1"], env=w.env, cwd=w.path,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert p.stdout.readline() == b"started\n"
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=30)
    assert p.returncode == 9 and b"the job goes on" in err, (p.returncode, err)
    assert not w.fake.jobs[0].canceled.is_set()


def a_reader_that_stops_holds_the_daemon_up_and_not_memory(w):
    p = subprocess.Popen([AIRLOCK, "submit", "--wait", w.script("flood")], env=w.env, cwd=w.path,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    time.sleep(1)
    out = p.stdout.read()
    p.stdout.close()
    assert p.wait(30) == 0 and out == (b"x" * 99999 + b"\n") * 40, len(out)


def jobs_are_listed_page_by_page(w):
    w.fake.server.page = 2
    for _ in range(5):
        w.run("submit", w.script("wait"))
    p = w.run("jobs")
    ids = [line.split()[0] for line in p.stdout.decode().splitlines()]
    assert ids == [f"{ID}{n}" for n in (5, 4, 3, 2, 1)], p
    assert len(json.loads(w.run("jobs", "--json", "--limit", "3").stdout)["jobs"]) == 3
    assert w.run("jobs", "--state", "ended").stdout == b""
    assert w.run("jobs", "--state", "gone").returncode == 2


def results_are_shown_after_the_end_alone(w):
    w.run("submit", w.script("outputs"))
    p = w.run("result", ID + "1")
    assert p.returncode == 2 and b"airlock watch" in p.stderr, p
    assert w.run("watch", ID + "1").returncode == 0
    p = w.run("result", ID + "1", "--out", "later")
    assert p.returncode == 0 and w.tree("later")["a.txt"] == b"one", p
    assert json.loads(w.run("result", "--json", ID + "1").stdout)["verdict"] == "success"
    assert b"airlock result " + ID.encode() in w.run("result", ID + "1").stderr


def cancel_says_what_came_of_it(w):
    w.run("submit", w.script("wait"))
    p = w.run("cancel", ID + "1", "nonsense", ID + "9")
    assert p.stdout == f"{ID}1  asked to end\n".encode() and p.returncode == 2, p
    assert b"'nonsense' is not the id of a job" in p.stderr and b"Not found" in p.stderr, p


def addresses_are_strict(w):
    for url in ("ftp://x/", "http://user:pw@127.0.0.1/", "http://127.0.0.1/path", "http://h?q",
                "unix:", "nonsense:x", "http://", "file:///etc/passwd"):
        p = w.run("jobs", env={"AIRLOCK_URL": url})
        assert p.returncode == 2 and b"AIRLOCK_URL" in p.stderr, (url, p)
    p = w.run("jobs", "--url", "http://127.0.0.1:1")
    assert p.returncode == 7 and b"start airlockd there" in p.stderr, p


def what_makes_no_sense_is_refused(w):
    for option in (["--out", "x"], ["--exit-code", "program"], ["--state", "/x"], ["--priority", "10"],
                   ["--deadline", "0s"], ["--idempotency-key", "a b"]):
        p = w.run("submit", *option, w.script("wait"))
        assert p.returncode == 2 and option[0].encode() in p.stderr, (option, p)
    link = w.path / "link"
    link.symlink_to("main.py")
    p = w.run("submit", "--in", "link", w.script("wait"))
    assert p.returncode == 2 and b"symbolic link" in p.stderr, p
    (w.path / "big").write_bytes(b"x" * 3000)
    p = w.run("submit", "--in", "big", "--in-bytes", "2000", w.script("wait"))
    assert p.returncode == 2 and b"--in-bytes" in p.stderr, p
    assert not w.fake.jobs


def tokens_stay_secret(w):
    w.fake.server.token = "alk_a_b"
    p = w.run("submit", w.script("wait"))
    assert p.returncode == 2 and b"AIRLOCK_TOKEN" in p.stderr, p
    assert w.run("submit", w.script("wait"), env={"AIRLOCK_TOKEN": "alk_a_b"}).returncode == 0
    file = w.path / "token"
    file.write_text("alk_a_b\n", encoding="utf-8")
    file.chmod(0o644)
    p = w.run("jobs", "--token-file", "token")
    assert p.returncode == 2 and b"chmod 600" in p.stderr, p
    file.chmod(0o600)
    assert w.run("jobs", "--token-file", "token").returncode == 0
    p = w.run("jobs", env={"AIRLOCK_TOKEN": "alk_a_b\r\nX: y"})
    assert p.returncode == 2 and b"alk_a_b" not in p.stderr, p
    p = w.run("jobs", env={"AIRLOCK_TOKEN": "alk_a_b", "AIRLOCK_URL": "http://192.0.2.1:7380"})
    assert p.returncode == 2 and b"use https" in p.stderr, p
    assert not any("X" in head for _, head, _ in w.fake.server.requests)


def a_unix_socket_will_do(w):
    with fake_airlockd.Fake(unix=str(w.path / "s")) as fake:
        p = w.wait("success", env={"AIRLOCK_URL": fake.url})
        assert (p.returncode, p.stdout) == (0, b"hello\n"), p


def a_unix_socket_of_others_is_told_from_none(w):
    path = w.path / "s"
    # Root may connect to any, so it goes without the capability for that.
    less = ["setpriv", "--bounding-set=-dac_override"] if os.getuid() == 0 else []
    env = {**w.env, "AIRLOCK_URL": f"unix:{path}"}
    with fake_airlockd.Fake(unix=str(path)):
        gid = os.getgid() or 1
        for mode, told in ((0, "its owner may"), (0o060, f"of group {grp.getgrgid(gid).gr_name} may")):
            os.chown(path, -1, gid)
            path.chmod(mode)
            p = subprocess.run([*less, AIRLOCK, "jobs"], env=env, capture_output=True, check=False, timeout=50)
            assert p.returncode != 0 and b"may not connect" in p.stderr and told.encode() in p.stderr, p
    path.unlink(missing_ok=True)
    p = w.run("jobs", env=env)
    assert p.returncode != 0 and b"no daemon can be reached" in p.stderr, p


def a_proxy_sees_nothing(w):
    p = w.run("jobs", env={"http_proxy": "http://127.0.0.1:1", "all_proxy": "http://127.0.0.1:1"})
    assert p.returncode == 0, p


def the_suite_goes_through_the_daemon_and_is_judged(w):
    p = w.run("suite", "--url", w.fake.url, "--filter", "^basic/", "--language", "python", "--json",
              "-j", "2", timeout=100)
    report = json.loads(p.stdout)
    assert p.returncode == 1 and w.fake.jobs, p  # the fake gives every program the same answer
    assert report["engine"] == "tcg" and len(w.fake.jobs) > 1, report
    assert all("airlock run gave no" not in (case["why"] or "") for case in report["cases"]), report
    p = w.run("suite", "--url", w.fake.url, "--pool", "1")
    assert p.returncode == 2 and b"--pool" in p.stderr, p


TESTS = [value for value in list(globals().values())
         if callable(value) and getattr(value, "__code__", None) is not None
         and value.__code__.co_varnames[:1] == ("w",)]


def main():
    failed = 0
    print(f"1..{len(TESTS)}")
    for number, test in enumerate(TESTS, 1):
        with tempfile.TemporaryDirectory() as path:
            world = World(path)
            try:
                with world.fake:
                    test(world)
                print(f"ok {number} - {test.__name__}", flush=True)
            except Exception as error:  # pylint: disable=broad-except
                failed += 1
                text = f"{type(error).__name__}: {error}".replace("\n", "\n# ")
                print(f"not ok {number} - {test.__name__}\n# {text[:1500]}", flush=True)
    return failed > 0


sys.exit(main())
