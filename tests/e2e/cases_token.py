"""Tokens of airlockd on the command line: shown once, kept as a digest, gone when revoked. None boots a machine."""
import json
import os
import re
import stat
import subprocess

from harness import AIRLOCK, case


def token(t, *args):
    done = subprocess.run([str(AIRLOCK), "token", *args, "--state", str(t.dir / "state")], check=False,
                          capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def listed(t):
    code, out, err = token(t, "list", "--json")
    t.equal(code, 0, f"exit code of token list ({err})")
    return json.loads(out)["tokens"]


@case("a token is shown once, and listed without its secret until it is revoked")
def life(t):
    t.equal(token(t, "list"), (0, "no tokens\n", ""), "the list without any")
    code, out, err = token(t, "new", "--tenant", "acme", "--rate", "60/min", "--wall", "10s", "--memory", "512M",
                           "--image", "python", "--image", "javascript", "--isolation", "emulated", "--note", "of ops")
    t.equal(code, 0, f"exit code of token new ({err})")
    match = re.fullmatch(r"alk_([0-9a-f]{16})_([A-Za-z0-9_-]{43})\n", out)
    t.true(match is not None, f"stdout is no token: {out!r}")
    directory = t.dir / "state" / "daemon" / "tokens"
    path = directory / f"{match[1]}.json"
    t.equal(stat.S_IMODE(path.stat().st_mode), 0o600, "mode of the file")
    t.equal(stat.S_IMODE(directory.stat().st_mode), 0o700, "mode of the directory")
    t.equal(path.stat().st_uid, directory.stat().st_uid, "owner of the file")
    for text in (path.read_text(encoding="utf-8"), err, json.dumps(listed(t)), token(t, "list")[1]):
        t.true(match[2] not in text, f"the secret is in: {text}")
    entry = listed(t)[0]
    t.equal((entry["id"], entry["tenant"], entry["note"], entry["usable"]), (match[1], "acme", "of ops", True), "entry")
    t.equal(entry["quota"], {"rate_per_minute": 60, "wall_ms": 10000, "memory_bytes": 512 << 20,
                             "images": ["python", "javascript"], "isolation": "emulated"}, "quotas")
    t.equal(token(t, "revoke", out.strip())[0], 2, "exit code of revoke with the whole token")
    t.true(path.exists(), "the token is gone without an id")
    t.equal(token(t, "revoke", match[1][:6])[0], 0, "exit code of revoke")
    t.equal(listed(t), [], "the list afterwards")


@case("tokens that make no sense are refused and leave nothing")
def refused(t):
    for args in ([], ["--tenant", "No Name"], ["--tenant", "a", "--concurrent", "0"], ["--tenant", "a", "--rate", "5/h"],
                 ["--tenant", "a", "--image", "../x"], ["--tenant", "a", "--isolation", "none"],
                 ["--tenant", "a", "--wall", "-1s"], ["--tenant", "a", "--memory", "1.5G"],
                 ["--tenant", "a", "--note", "x" * 201], ["--tenant", "a", "extra"]):
        code, out, err = token(t, "new", *args)
        t.equal((code, out), (2, ""), f"exit code and stdout for {args} ({err})")
        t.true(err.startswith("airlock token new: "), f"message for {args}: {err}")
    t.equal(listed(t), [], "the list afterwards")


@case("a token file that is damaged is listed as not used, and why")
def damaged(t):
    t.equal(token(t, "new", "--tenant", "good")[0], 0, "exit code of token new")
    directory = t.dir / "state" / "daemon" / "tokens"
    (directory / "0011223344556677.json").write_text("{", encoding="utf-8")
    os.chmod(directory / "0011223344556677.json", 0o600)
    broken = [e for e in listed(t) if not e["usable"]]
    t.equal([e["file"] for e in broken], ["0011223344556677.json"], "what is not used")
    t.true("strict JSON" in broken[0]["why"], f"why: {broken[0]['why']}")
    text = token(t, "list")[1]
    t.true("NOT USED: line 1" in text and "good" in text, f"the list as text: {text}")
