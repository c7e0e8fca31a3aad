#!/usr/bin/python3
"""What the monitor itself costs, on this machine's own KVM, against the bars. Tables on stdout.

bench/vmm/measure.py [--rounds N] [--json FILE]

One round runs, in turn: a clone of a 256 MiB template by airlock-vmm, the same KVM calls by a program
that does nothing else (minimal.c plays what kvm-call-bench.c recorded), and QEMU up to its greeting,
which is the least that a clone by QEMU can cost. Each is stopped at its first instruction by launch.c;
the clock runs from there to the first byte that it writes: the guest, bare metal, leaves for the
serial port at once. No jail and no supervisor are in this; bench/vmm/nested.py has the whole.

"outside KVM" is measured with a build of the monitor whose kvm-call.c has a clock: from fork to the
guest's first exit, less the KVM calls before it and the first KVM_RUN. strace would cost more than
what is measured.

All of ours run from copies, as they are installed: what a linker wrote lies in the page cache in smaller
pieces, and is slower to map.

A bar that is missed is told and is no failure; exit 1 if a run went wrong.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "guests"))

from vmm_run import (BUILD, CHANNEL, CONTROL, DISK_BYTES, DISK_SCRATCH, EXIT_OFF, KVM, MEMORY, MIB, MONITOR, STATE,  # noqa: E402
                     STDERR, Machine, cannot_run, disk, spawn)

LAUNCH, MINIMAL, CLOCKED = (BUILD / "bench" / "vmm" / name for name in ("launch", "minimal", "airlock-vmm-bench"))
RAM = 256 * MIB
WORDS = 0x2000  # of tests/guests/vmm-storms.c: 1 = go and end, 2 = go and stay; then the pages to write to
STAY_PAGES = 1000
QEMU = shutil.which("qemu-system-x86_64")
QEMU_ARGS = ["-M", "microvm", "-m", "256M", "-nodefaults", "-no-user-config", "-display", "none", "-S", "-qmp", "stdio"]


class Wrong(Exception):
    pass


def say(text):
    print(f"   bench: {text}", file=sys.stderr, flush=True)


class Template:
    """A guest of 256 MiB that was saved while it waited."""

    def __init__(self):
        self.memory = os.memfd_create("memory", os.MFD_CLOEXEC)
        os.ftruncate(self.memory, RAM)
        with Machine("wait", memory=RAM, control=True, memory_fd=self.memory) as machine:
            if machine.wait(30, "storm\n"):
                raise Wrong(f"template: {machine.end()}")
            self.state = machine.save()
            if not machine.wait(30) or machine.end().code != EXIT_OFF:
                raise Wrong(f"template: {machine.ended}")
        self.go(1, 0)
        # A template of a real kernel has its pages in the page cache; so has this one.
        for at in range(64 * MIB, RAM, MIB):
            os.pwrite(self.memory, bytes(MIB), at)

    def go(self, word, pages):
        os.pwrite(self.memory, struct.pack("<II", word, pages), WORDS)


class Start:
    """One run of launch: milliseconds."""

    def __init__(self, mode, program, arguments, descriptors, environment=None):
        out, out_other = os.pipe2(os.O_CLOEXEC)
        err, err_other = os.pipe2(os.O_CLOEXEC)
        pid = spawn(LAUNCH, [mode, str(program)] + arguments, {1: out_other, STDERR: err_other, **descriptors}, environment)
        os.close(out_other)
        os.close(err_other)
        with open(out, encoding="ascii") as file:
            fields = file.read().split()
        with open(err, encoding="utf-8", errors="replace") as file:
            self.stderr = file.read().strip()
        os.waitpid(pid, 0)
        if len(fields) != 5 or mode == "run" and fields[4] != "0":
            raise Wrong(f"{program}: {fields}, {self.stderr}")
        self.exec_ms, self.first_ms, self.total_ms = (int(field) / 1e6 for field in fields[:3])
        self.start_ns = int(fields[3])


class Clocked:
    """exit_ms: from the first instruction to the first exit; parts: names and milliseconds, fork and exec as well."""

    def __init__(self, exit_ms, calls, parts):
        self.exit_ms = exit_ms
        self.calls = calls
        self.parts = parts
        self.outside_ms = sum(ms for name, ms in parts.items() if not name.startswith("KVM"))


class Bench:
    def __init__(self):
        self.template = Template()
        self.disks = {number: disk(size, number == DISK_SCRATCH) for number, size in DISK_BYTES.items()}
        self.kvm = os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC)
        self.tape = None
        self.installed = tempfile.TemporaryDirectory(prefix="airlock-bench-")
        self.monitor, self.minimal_program, self.with_clock = (
            shutil.copy(program, self.installed.name) for program in (MONITOR, MINIMAL, CLOCKED))

    def clone(self, program, environment=None, extra=None):
        """A clone by the monitor, or a build of it."""
        pairs = [socket.socketpair() for _ in range(2)]
        pairs[0][1].setblocking(False)
        try:
            os.lseek(self.template.state, 0, os.SEEK_SET)
            descriptors = {CHANNEL: pairs[0][1].fileno(), CONTROL: pairs[1][1].fileno(), MEMORY: self.template.memory,
                           STATE: self.template.state, KVM: self.kvm, **self.disks, **(extra or {})}
            return Start("run", program, ["--memory", str(RAM), "--vcpus", "1", "--disks", "--console", "--restore"],
                         descriptors, environment)
        finally:
            for pair in pairs:
                for sock in pair:
                    sock.close()

    def record(self):
        self.tape = os.memfd_create("tape", os.MFD_CLOEXEC)
        self.clone(self.with_clock, {"TAPE": "20"}, {20: self.tape})

    def minimal(self):
        os.lseek(self.tape, 0, os.SEEK_SET)
        start = Start("run", self.minimal_program, [str(RAM)], {MEMORY: self.template.memory, STATE: self.tape, KVM: self.kvm})
        start.exit_ms = (int(start.stderr) - start.start_ns) / 1e6
        return start

    def clocked(self):
        """A clone by the monitor with a clock: what of it was what."""
        start = self.clone(self.with_clock)
        fields = re.search(r"^kvm: (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)$", start.stderr, re.M)
        calls, in_kvm, main_at, done, enter, left = map(int, fields.groups())
        parts = {"fork and exec": start.exec_ms, "to main()": (main_at - start.start_ns) / 1e6, "KVM calls": in_kvm / 1e6,
                 "between them": (done - main_at - in_kvm) / 1e6, "filters, thread": (enter - done) / 1e6,
                 "KVM_RUN": (left - enter) / 1e6}
        return Clocked((left - start.start_ns) / 1e6, calls, parts)

    def qemu(self, accel):
        return Start("once", QEMU, ["-accel", accel] + QEMU_ARGS, {})

    def private(self):
        """KiB that only the monitor of a waiting clone has: (all but the guest's memory, the guest's memory)."""
        self.template.go(2, STAY_PAGES)
        os.lseek(self.template.state, 0, os.SEEK_SET)
        with Machine(memory=RAM, restore=True, control=True, memory_fd=self.template.memory,
                     state_fd=self.template.state) as machine:
            if machine.wait(10, "!"):
                raise Wrong(f"a clone ended: {machine.end()}")
            machine.wait(0.5)
            text = pathlib.Path(f"/proc/{machine.pid}/smaps").read_text(encoding="utf-8")
        self.template.go(1, 0)
        own = guest = 0
        parts = []
        for block in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", text)[1:]:
            kib = sum(int(n) for n in re.findall(r"^Private_\w+:\s+(\d+) kB", block, re.M))
            name = block.split("\n", 1)[0].split(None, 5)[5:]
            if name and "memfd:memory" in name[0]:
                guest += kib
            else:
                own += kib
                parts.append((kib, name[0].strip() if name else "anonymous"))
        return own, guest, sorted(parts, reverse=True)[:6]


def qemu_accel(bench):
    """The accelerator with which QEMU comes up here, and why not kvm."""
    if QEMU is None:
        return None, "not installed"
    for accel in ("kvm", "tcg"):
        try:
            bench.qemu(accel)
            return accel, ""
        except Wrong as wrong:
            say(f"QEMU accel={accel}: {wrong}")
    return None, "does not start"


def lines_of_vmm():
    files = [*(ROOT / "src" / "vmm").rglob("*.c"), *(ROOT / "src" / "vmm").rglob("*.h")]
    return sum(path.read_text(encoding="utf-8").count("\n") for path in files)


def stripped_bytes():
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run(["strip", "-o", file.name, str(MONITOR)], check=True)
        return os.stat(file.name).st_size


def row(what, bar, good, measured):
    return {"what": what, "bar": bar, "pass": good, "measured": measured}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    reason = cannot_run()
    if reason:
        sys.exit(f"bench/vmm: this machine's KVM runs no bare-metal guest: {reason}")
    bench = Bench()
    bench.record()
    accel, why = qemu_accel(bench)
    clones, minimals, qemus, clocked = [], [], [], []
    for number in range(options.rounds + 2):
        some = bench.clone(bench.monitor), bench.minimal(), bench.clocked()
        floor = bench.qemu(accel) if accel else None
        if number >= 2:  # the first ones warm caches
            clones.append(some[0])
            minimals.append(some[1])
            clocked.append(some[2])
            if floor:
                qemus.append(floor)
    own, guest, parts = bench.private()

    def median(values):
        return statistics.median(values)

    def quartile(values):
        return statistics.quantiles(values, n=4)[0]

    clone, least = median([c.exit_ms for c in clocked]), median([m.exit_ms for m in minimals])
    outside = median([c.outside_ms for c in clocked])
    low = quartile([c.exit_ms for c in clocked]) / quartile([m.exit_ms for m in minimals])
    rows = [row("clone of 256 MiB to the first exit", "<= 1.15 x minimal", clone / least <= 1.15,
                f"{clone:.2f} ms / {least:.2f} ms = {clone / least:.2f} x; of the faster quarters {low:.2f} x")]
    if accel:
        floor = median([q.first_ms for q in qemus])
        rows.append(row("the same", "<= 0.5 x QEMU's start", clone / floor <= 0.5,
                        f"{clone:.2f} ms / {floor:.2f} ms = {clone / floor:.2f} x (to QMP's greeting, accel={accel})"))
    else:
        rows.append(row("the same", "<= 0.5 x QEMU's start", None, f"QEMU {why}"))
    rows.append(row("of a clone, outside KVM and guest", "<= 2 ms", outside <= 2,
                    f"{outside:.2f} ms from fork on; of the faster quarter {quartile([c.outside_ms for c in clocked]):.2f}; without the jail"))
    rows.append(row("private memory beside the guest's", "<= 1536 KiB", own <= 1536,
                    f"{own} KiB (the guest's: {guest} KiB, {STAY_PAGES} pages dirtied)"))
    lines = lines_of_vmm()
    rows.append(row("lines of src/vmm", "<= 6000", lines <= 6000, str(lines)))
    rows.append(row("binary", "", None, f"{stripped_bytes() / 1024:.0f} KiB stripped, {MONITOR.stat().st_size / 1024:.0f} as built"))

    print(f"{options.rounds} rounds in turn; load of this host {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"\n{'to the first byte seen outside, ms':36}{'median':>9}{'p25':>9}{'min':>9}{'to the end':>12}")
    for name, starts in (("airlock-vmm", clones), ("the same KVM calls", minimals), (f"QEMU, accel={accel}", qemus)):
        if starts:
            first = [s.first_ms for s in starts]
            print(f"{name:36}{median(first):9.2f}{quartile(first):9.2f}{min(first):9.2f}{median([s.total_ms for s in starts]):12.2f}")
    print(f"\na clone with a clock ({clocked[0].calls} KVM calls), ms: " + ", ".join(
        f"{name} {median([c.parts[name] for c in clocked]):.2f}" for name in clocked[0].parts))
    print("private memory: " + ", ".join(f"{kib} KiB {name}" for kib, name in parts))
    print(f"\n{'number':36}{'bar':24}{'verdict':12}measured")
    for r in rows:
        print(f"{r['what']:36}{r['bar']:24}{ {True: 'ok', False: 'SHORT', None: '-'}[r['pass']]:12}{r['measured']}")
    if options.json:
        options.json.write_text(json.dumps({"rounds": options.rounds, "numbers": rows}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"bench/vmm: {wrong}")
