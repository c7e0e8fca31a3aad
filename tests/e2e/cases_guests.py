"""Guests that were taken over altogether, kernel and agent: evil-init runs instead of airlock-init.

What the program is does not matter here; its last argument names what the guest does
(tests/guests). Whatever that is, the verdict is the host's, it comes in time, nothing is exported
that did not pass every check, and nothing is left.
"""
import errno
import json
import os
import pathlib
import signal
import stat
import time

from cases_host import monitor_of
from evil import evil_state, shared_evil_state
from harness import ENGINE, case, control_groups, tree_of

PROGRAM = "print('the guest has no Python to run this with')\n"
SLACK = 30  # seconds, on a machine that is busy with other tests


def attack(t, mode, *options, state=None, wall="3s", seconds=0, **more):
    """Runs it. seconds: the deadline that is expected to strike; everything ends soon after it."""
    state = state or shared_evil_state()
    out = t.path("out")
    out.mkdir()
    begun = time.monotonic()
    # The guest of each state is another one: to find out whether KVM boots it takes 20 s where it spins.
    engine = [] if ENGINE else ["--engine", "tcg"]
    result = t.run(PROGRAM, "--wall", wall, "--out", out, *engine, *options, args=[mode], state=state, **more)
    took = time.monotonic() - begun
    t.true(result.doc is not None, f"no result: {result.describe()}")
    phases = {k: v / 1e9 for k, v in result.phases.items() if v is not None}
    ready = phases.get("ready_ns", phases.get("spawned_ns", phases["staged_ns"]))  # a boot is part of the template
    t.true(phases["cleaned_ns"] - ready < seconds + SLACK and took - phases["cleaned_ns"] < SLACK,
           f"it took {took:.0f} s: {phases}, {result.describe()}")
    t.equal([g for g in control_groups(state) if result.machine["id"] in g], [], "control groups left")
    t.wait_gone(t.dir)
    return result, sorted(p.name for p in out.iterdir())


def kinds(result):
    return [e["kind"] for e in result.events]


def fails(name, mode, phase, event, seconds=0, options=(), also=()):
    """A sandbox failure of that phase, decided by an event of that kind."""
    @case(name)
    def check(t):
        result, exported = attack(t, mode, *options, seconds=seconds)
        t.expect(result, "sandbox_failure", reason=phase)
        t.true(event in kinds(result) and all(k in kinds(result) for k in also),
               f"events: {result.events}")
        t.equal(exported, [], "exported")
        t.true(all(c.isprintable() for c in result.message), f"message {result.message!r}")


def ends_at_wall(name, mode, *options, **more):
    @case(name)
    def check(t):
        result, exported = attack(t, mode, *options, seconds=3, **more)
        t.expect(result, "timeout", reason="wall")
        t.equal(exported, [], "exported")
        ran_ns = result.phases["killed_ns"] - result.phases["started_ns"]
        t.true(3e9 <= ran_ns < 13e9, f"killed {ran_ns / 1e9:.2f} s after its start, --wall 3s")


def fails_at_boot(name, mode, event, seconds=0, also=()):
    @case(name)
    def check(t):
        state = evil_state(t, mode)
        before = tree_of(state / "slots")
        result, exported = attack(t, "", state=state, seconds=seconds)
        t.expect(result, "sandbox_failure", reason="boot")
        t.true(event in kinds(result) and all(k in kinds(result) for k in also),
               f"events: {result.events}")
        t.equal((exported, tree_of(state / "slots")), ([], before), "exported, slots")


# Before READY: no job data is in the machine yet

fails_at_boot("a guest that panics at boot", "panic", "monitor_exit", also=["kernel_panic"])
fails_at_boot("a guest that resets at boot", "reset", "monitor_exit")
fails_at_boot("a guest that says EXIT at boot", "exit-only", "protocol_error")
fails_at_boot("a guest that talks nonsense at boot", "garbage", "protocol_error")
fails_at_boot("a guest that floods its console and never answers ends at the boot deadline",
              "flood-console", "deadline", seconds=60)

# Between JOB and STARTED

fails("a guest that never starts the program ends at the start deadline", "never-starts", "start",
      "deadline", seconds=30)
fails("READY a second time", "ready-again", "start", "protocol_error")
fails("EXIT 0 without STARTED is no success", "exit-before-start", "start", "protocol_error")
fails("output before STARTED", "stdout-before-start", "start", "protocol_error")
fails("a guest that panics before STARTED", "panic-before-start", "start", "monitor_exit",
      also=["kernel_panic"])
fails("a guest that resets before STARTED", "reset-before-start", "start", "monitor_exit")


@case("a guest that says the command cannot be executed is believed, in words that are harmless")
def no_command(t):
    # A program can make itself not executable no more than this; nothing ran, nothing is exported.
    result, exported = attack(t, "failed-exec")
    t.expect(result, "rejected", reason="command")
    t.equal(exported, [], "exported")
    t.true(all(c.isprintable() for c in result.message), f"message {result.message!r}")


# While the program would run: the machine

fails("a guest that panics", "panic", "run", "monitor_exit", also=["kernel_panic"])
fails("a guest that crashes its kernel", "crash", "run", "monitor_exit", also=["kernel_panic"])
fails("a guest that resets", "reset", "run", "monitor_exit")
ends_at_wall("a guest that stops every processor with interrupts off ends at the wall limit", "halt",
             "--vcpus", "2")
ends_at_wall("a guest that does nothing at all ends at the wall limit", "silent")
ends_at_wall("a guest that closes its port ends at the wall limit", "close-port")
ends_at_wall("a guest that floods its console ends at the wall limit", "flood-console")


@case("a guest that powers off never gets a success")
def powers_off(t):
    # The board has no power switch: the kernel halts instead, or the monitor ends.
    result, exported = attack(t, "power-off", seconds=3)
    t.expect(result, ("timeout", "sandbox_failure"))
    t.equal(exported, [], "exported")


@case("a guest whose every processor spins above all else ends at the CPU limit")
def spins(t):
    result, _ = attack(t, "spin", "--cpu", "3s", "--vcpus", "2", wall="60s", seconds=10)
    t.expect(result, "timeout", reason="cpu")


@case("a guest that ignores everything is canceled by Ctrl-C", alone=True)
def ignores_cancel(t):
    state = evil_state(t)
    child = t.start(t.command("--wall", "120s", program=PROGRAM, args=["silent"], state=state))
    end = time.monotonic() + 60
    while not control_groups(state) and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(4)
    child.send_signal(signal.SIGINT)
    begun = time.monotonic()
    raw, _ = child.communicate(timeout=30)
    t.equal((json.loads(raw)["verdict"], child.returncode), ("canceled", 9), "verdict, exit code")
    t.true(time.monotonic() - begun < 10, "Ctrl-C took more than 10 s")
    t.equal(control_groups(state), [], "control groups left")


# While the program would run: the channel

fails("frames that are noise", "garbage", "run", "protocol_error")
fails("a frame of four gigabytes", "giant", "run", "protocol_error")
fails("a frame one byte over its type's maximum", "one-over", "run", "protocol_error")
fails("a frame with a number that was used before", "replay", "run", "protocol_error")
fails("a frame of the other direction", "to-guest", "run", "protocol_error")
fails("STARTED a second time", "started-again", "run", "protocol_error")
fails("outputs before EXIT", "output-early", "run", "protocol_error")
fails("an EXIT that is cut off", "exit-code", "run", "protocol_error")
fails("FAILED with escape sequences for a terminal", "failed", "run", "agent_failed")
ends_at_wall("a guest that sends half a frame and stops ends at the wall limit", "partial")
ends_at_wall("a guest that floods credit ends at the wall limit", "flood-credit")
ends_at_wall("a guest that floods empty frames ends at the wall limit", "flood-empty")
ends_at_wall("a guest that never takes its stdin ends at the wall limit", "silent", stdin=b"i" * (8 << 20))


def overflows(stream):
    @case(f"a guest that floods {stream} beyond its cap is stopped there")
    def check(t):
        result, exported = attack(t, f"flood-{stream}", f"--{stream}", "100000", wall="60s")
        t.expect(result, "output_overflow", reason=stream)
        t.equal((result.doc[stream]["data"], exported), ("A" * 100000, []), "bytes, exported")


overflows("stdout")
overflows("stderr")


# The report

fails("EXIT 0 without outputs, and then silence, is no success", "exit-only", "collect", "deadline",
      seconds=60)
fails("EXIT twice", "exit-again", "collect", "protocol_error")
fails("EXIT 0 and a panic is no success", "exit-panic", "collect", "monitor_exit", also=["kernel_panic"])


@case("a guest that claims to have been killed for memory gets oom, not success")
def forged_oom(t):
    result, exported = attack(t, "exit-oom")
    t.expect(result, "oom", reason="guest")
    t.equal(exported, [], "exported")


@case("a forged EXIT 0 with no outputs is a success, as of a program that does nothing")
def forged_exit(t):
    """A guest that was taken over can send what any program could have written, and no more: exit
    code 0 and these bytes are a result that a program is free to choose. What makes it worth
    something are contracts on outputs, not the exit code."""
    result, exported = attack(t, "no-such-mode")
    t.expect(result, "timeout")  # the mode is not known: evil-init says so and waits
    t.equal((result.out, exported), (b"evil-init knows no such mode\n", []), "stdout, exported")
    (t.dir / "out").rmdir()
    result, exported = attack(t, "no-outputs")
    t.expect(result, "success", stdout=b"", stderr=b"", outputs=[])
    t.equal(exported, [], "exported")


# The output stream. The guest says EXIT 0 each time.

def lies(name, mode):
    @case(f"an output stream with {name} is refused whole")
    def check(t):
        result, exported = attack(t, mode)
        t.expect(result, "sandbox_failure", reason="inspect")
        t.equal((exported, result.outputs), ([], []), "exported, outputs")
        t.true(not (t.dir / "escaped").exists() and not pathlib.Path("/tmp/airlock-escaped").exists(),
               "a file outside --out")


lies("'..' in a name", "dotdot")
lies("'..' inside a path", "dotdot-inside")
lies("an absolute name", "absolute")
lies("a NUL in a name", "nul")
lies("an empty part in a name", "empty-component")
lies("a file shorter than announced", "short")
lies("no end", "no-end")
lies("no bytes at all", "nothing")
lies("records behind its end", "after-end")
lies("a record of unknown kind", "kind")
fails("an output stream without end is cut at what the caps allow", "flood", "collect", "protocol_error",
      options=("--out-bytes", "1M"))


def over_cap(name, mode, reason):
    @case(f"an output stream with {name}, which no agent sends, is an overflow")
    def check(t):
        result, exported = attack(t, mode)
        t.expect(result, "output_overflow", reason=reason)
        t.equal((exported, result.outputs), ([], []), "exported, outputs")


over_cap("a file of 2^64 - 1 bytes", "size", "output_bytes")
over_cap("one directory over the cap", "many", "output_files")
over_cap("a path one part too deep", "deep", "output_depth")


def dropped(name, mode, kept, refused):
    """Well-formed, but entries that cannot be: they are left out and told, the rest is checked."""
    @case(f"an output stream with {name}: what cannot be is left out")
    def check(t):
        result, exported = attack(t, mode)
        t.expect(result, "success")
        t.equal((exported, sorted(d["name"] for d in result.dropped)), (kept, refused), "exported, dropped")
        for path in (t.dir / "out").iterdir():
            t.equal(path.stat().st_mode & 0o7000, 0, "setuid, setgid and sticky of an output")


dropped("a name twice", "duplicates", ["a"], ["a"])
dropped("a file whose directory never came", "orphan", [], ["no/parent"])
dropped("a file below a link", "below-a-link", [], ["l", "l/f"])
dropped("a file below a file", "below-a-file", ["f"], ["f/g"])


@case("a guest that writes to the raw scratch disk past --disk gets I/O errors, the host's file stays within",
      alone=True)
def raw_scratch(t):
    state = evil_state(t)
    child = t.start(t.command("--wall", "120s", "--disk", "16M", program=PROGRAM, args=["scratch"],
                              state=state, as_json=False))
    said = {}
    for line in child.stdout:
        if line == b"done\n":
            break
        key, _, value = line.decode().strip().partition("=")
        said[key] = int(value)
    pid = monitor_of(state)[0]
    files = [os.stat(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=30)
    size = 16 << 20  # of a device of 16 GiB, as in every machine
    t.equal(said, {"written": size, "errno": errno.EIO, "far": errno.EIO, "last": ord("e")},
            "what the guest saw")
    scratch = {(f.st_dev, f.st_ino): f.st_blocks * 512 <= size + 65536 for f in files
               if stat.S_ISREG(f.st_mode) and f.st_size == 16 << 30}
    t.equal(list(scratch.values()), [True], "the host's file")


@case("two guests that spin and flood leave a third, good job right and in time", alone=True)
def neighbours(t):
    for pair in (("spin", "flood-console"), ("flood-credit", "flood-empty")):
        children = [t.start(t.command("--wall", "20s", "--vcpus", "2", program=PROGRAM, args=[mode],
                                      state=shared_evil_state())) for mode in pair]
        try:
            time.sleep(4)
            result = t.run("print(sum(range(100000)))\n", "--wall", "30s")
            t.expect(result, "success", stdout=b"4999950000\n")
        finally:
            verdicts = [json.loads(c.communicate(timeout=120)[0])["verdict"] for c in children]
        t.equal(verdicts, ["timeout", "timeout"], f"verdicts of {pair}")


@case("after all those guests nothing is left of them", alone=True)
def nothing_left(t):
    state = shared_evil_state()
    t.equal(control_groups(state), [], "control groups")
    t.equal(tree_of(state / "slots"), [("lock", 0)], "slots")
    t.equal(list((state / "tmp").iterdir()), [], "files in STATE/tmp")
