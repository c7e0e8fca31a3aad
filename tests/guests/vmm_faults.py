#!/usr/bin/python3
"""Every call of the monitor to KVM and the host fails once: it says which, and ends with its own code. TAP on stdout.

tests/guests/vmm_faults.py [-j N] [WORD...]    only tests with all words in their names

airlock-vmm-faulty is the monitor with vmm-faulty.c in place of kvm-call.c. How many calls there are is
counted first, in a run in which none fails: a call that is new is failed, too, without being named here.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import signal
import struct
import sys
import time

from vmm_run import BUILD, EXIT_HOST, EXIT_OFF, EXIT_STATE, EXIT_USAGE, MIB, Machine, cannot_run

FAULTY = BUILD / "tests" / "guests" / "airlock-vmm-faulty"
RAM = 32 * MIB
PATIENCE = 20
WORDS = 0x2000  # of vmm-storms.c, wait_for_word()
PAGES = 1500  # which a clone dirties, so that it does not end before the monitor has waited once

# What the reason must say of a call. Of KVM's ioctls it is the name.
SAYS = {
    "run": "KVM_RUN", "mmap64": "guest memory|map ", "madvise": "guest memory", "eventfd": "eventfd", "poll": "poll", "pthread_create": "thread",
    "pread64": "read|file|filter", "preadv64": "cannot read", "pwritev64": "cannot write",
    "sendmsg": "cannot send|tell the supervisor", "recvmsg": "cannot receive|recvmsg", "getrandom": "random",
    "fstat64": "size|look at|stat|kernel|file|filter", "prctl": "PR_SET_NO_NEW_PRIVS", "sigaction": "signal",
    "seccomp": "filter",
}
# Calls without number: as many as the guest makes. The first ones stand for all; only such as every run makes.
ENDLESS = {"run": (1, 2, 20), "poll": (1, 2), "preadv64": (1, 3), "pwritev64": (1,), "getrandom": (1, 2),
           "sendmsg": (1,), "recvmsg": (1, 2)}
# The guest waits for no device, so all that wakes the monitor may come before it waits a first time.
ALL_AT_ONCE = ("save", "restore")


class Fail(Exception):
    pass


def ioctl_names():
    """KVM's requests by number, type and direction left out: enough to know one by its error."""
    text = pathlib.Path("/usr/include/linux/kvm.h").read_text(encoding="utf-8")
    names = {}
    for name, number in re.findall(r"#define\s+(KVM_\w+)\s+_IO\w*\(KVMIO,\s*(0x[0-9a-f]+)", text):
        names.setdefault(int(number, 16), []).append(name)
    return names


class Template:
    """A machine that was saved while it waited; its memory file says go."""

    def __init__(self):
        self.memory = os.memfd_create("memory", os.MFD_CLOEXEC)
        os.ftruncate(self.memory, RAM)
        with Machine("wait", memory=RAM, control=True, memory_fd=self.memory) as machine:
            if machine.wait(PATIENCE, "storm\n"):
                raise Fail(f"no template: {machine.end()}")
            self.state = machine.save()
            if not machine.wait(PATIENCE):
                raise Fail("a machine that is saved does not end")
            end = machine.end()
            if end.code != EXIT_OFF:
                raise Fail(f"no template: {end}")
        os.pwrite(self.memory, struct.pack("<II", 1, PAGES), WORDS)


class Run:
    """One run of a scenario: how it ended, and what was counted."""

    def __init__(self, scenario, fault, template):
        environment = {"FAULT": fault} if fault else {}
        options = {"monitor": FAULTY, "environment": environment}
        memory = state = None
        if scenario == "save":
            memory = os.memfd_create("memory", os.MFD_CLOEXEC)
            os.ftruncate(memory, RAM)
            options.update(command="wait", control=True, memory_fd=memory)
        elif scenario == "restore":
            state = os.memfd_create("state", os.MFD_CLOEXEC)
            os.write(state, os.pread(template.state, MIB, 0))
            os.lseek(state, 0, os.SEEK_SET)
            options.update(restore=True, control=True, memory_fd=template.memory, state_fd=state, writes=[(1, 2), (8, 4), (0, 0)])
        else:
            options.update(command=scenario)
        self.answer = ""
        try:
            with Machine(**options) as machine:
                ended = machine.wait(PATIENCE, "storm\n" if scenario == "save" else None, on_channel=self.echo)
                if not ended and scenario == "save":
                    try:
                        os.close(machine.save())
                    except (RuntimeError, OSError) as reason:
                        self.answer = str(reason)
                    ended = machine.wait(PATIENCE)
                if not ended:
                    raise Fail(f"no end within {PATIENCE} s")
                end = machine.end()
        finally:
            for fd in (memory, state):
                if fd is not None:
                    os.close(fd)
        self.code = end.code
        lines = end.reason.splitlines()
        self.reason = [line for line in lines if line.startswith("airlock-vmm: ")]
        calls = [line for line in lines if line.startswith("calls: ")]
        if len(calls) != 1 or len(self.reason) + 1 != len(lines):
            raise Fail(f"exit {end.code}, '{end.reason}'")
        counts = dict(pair.split("=") for pair in calls[0].split()[1:])
        self.failed = int(counts.pop("failed"), 16)
        self.calls = {kind: int(count) for kind, count in counts.items()}

    @staticmethod
    def echo(machine, data):
        machine.channel.send(data)


def check(scenario, kind, number, template, names):
    run = Run(scenario, f"{kind}:{number}", template)
    text = "; ".join(run.reason)
    if run.failed == 0:
        raise Fail(f"the call was not made: exit {run.code}, '{text}'")
    ioctl = names.get(run.failed & 0xff, []) if kind == "ioctl" else []
    # What an older KVM may lack is asked for and done without; only what is needed is named.
    if "KVM_CHECK_EXTENSION" in ioctl:
        if not (run.code == EXIT_HOST and "capability" in text or run.code == EXIT_STATE and "this host's" in text
                or run.code == EXIT_OFF and not text):
            raise Fail(f"{ioctl}: exit {run.code}, '{text}'")
        return "KVM_CHECK_EXTENSION"
    wanted = "|".join(ioctl) if kind == "ioctl" else SAYS[kind]
    if run.code not in (EXIT_HOST, EXIT_USAGE) or len(run.reason) != 1 or not re.search(wanted, text):
        raise Fail(f"{wanted}: exit {run.code}, '{text}', control socket '{run.answer}'")
    return ""


SCENARIOS = [("disk-use", "a boot with disks"), ("console-use", "a boot with a channel"), ("full-ring rng 1", "a boot with entropy"),
             ("save", "a machine that is saved"), ("restore", "a clone")]


def numbers(scenario, kind, count, baseline):
    """Which calls of a kind to fail. What one boot makes before its guest runs, another does, too."""
    if kind in ENDLESS:
        some = [n for n in ENDLESS[kind] if n <= count]
        return some[:1] if kind == "poll" and scenario in ALL_AT_ONCE else some
    first = 1 if scenario in ("disk-use", "save", "restore") else baseline[kind] + 1
    return range(first, count + 1)


def attempt(entry):
    text, scenario, kind, number, template, names = entry
    try:
        check(scenario, kind, number, template, names)
        return text, None
    except (Fail, OSError) as fail:
        return text, str(fail)


def collect(template):
    names = ioctl_names()
    tests, baseline = [], None
    for scenario, text in SCENARIOS:
        counted = Run(scenario, None, template)
        if counted.code != EXIT_OFF or counted.reason or counted.answer:
            raise Fail(f"{text}: exit {counted.code}, {counted.reason}, control socket '{counted.answer}'")
        baseline = baseline or counted.calls
        for kind, count in counted.calls.items():
            for number in numbers(scenario, kind, count, baseline):
                tests.append((f"V18 {text}: {kind} fails at call {number} of {'many' if kind in ENDLESS else count}",
                              scenario, kind, number, template, names))
    return tests


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    reason = cannot_run()
    if reason:
        print(f"   vmm_faults: NO GUEST RUNS HERE, the monitor's calls are not failed: {reason}", file=sys.stderr)
        print(f"ok 1 - every call of the monitor fails once # SKIP {reason}\n1..1", flush=True)
        return 0
    begin = time.monotonic()
    try:
        tests = collect(Template())
    except Fail as fail:
        print(f"not ok 1 - no call fails\n# {fail}\n1..1", flush=True)
        return 1
    chosen = [t for t in tests if all(word in t[0] for word in options.words)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        for number, (text, wrong) in enumerate(pool.map(attempt, chosen), 1):
            failed += wrong is not None
            print(f"{'not ok' if wrong else 'ok'} {number} - {text}" + (f"\n# {wrong}" if wrong else ""), flush=True)
            if wrong:
                print(f"   vmm_faults {number}: {text}: {wrong}", file=sys.stderr, flush=True)
    print(f"1..{len(chosen)}", flush=True)
    print(f"   vmm_faults: {len(chosen)} calls in {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
