"""What bench/vmm/nested.py --only exits|memory looks at in the nested host: KVM's tracepoints, control groups. Lines for stdout."""
import collections
import pathlib
import re
import subprocess
import sys
import time

TRACE = pathlib.Path("/sys/kernel/tracing")
GROUPS = pathlib.Path("/sys/fs/cgroup")
EVENTS = ("kvm_entry", "kvm_exit", "kvm_mmio", "kvm_msr", "kvm_pio", "kvm_page_fault")
LINE = re.compile(r"\s*\S+-\d+\s+\[\d+\]\s+\S+\s+([\d.]+): (\w+): (.*)")
WHAT = {"kvm_mmio": r"mmio \w+|gpa 0x[0-9a-f]+", "kvm_msr": r"msr_\w+ \w+", "kvm_pio": r"pio_\w+ at \w+", "kvm_page_fault": r"error_code \w+"}
MEMORY_MIB = 384


def traced(work):
    """What work() returns, and the lines of a trace of KVM meanwhile; times are those of time.monotonic()."""
    if not (TRACE / "trace").exists():
        subprocess.run(["mount", "-t", "tracefs", "none", TRACE], check=True)
    (TRACE / "trace_clock").write_text("mono", encoding="ascii")
    (TRACE / "buffer_size_kb").write_text("30000", encoding="ascii")
    (TRACE / "trace").write_text("", encoding="ascii")
    for event in EVENTS:
        (TRACE / "events/kvm" / event / "enable").write_text("1", encoding="ascii")
    try:
        result = work()
    finally:
        for event in EVENTS:
            (TRACE / "events/kvm" / event / "enable").write_text("0", encoding="ascii")
    return result, (TRACE / "trace").read_text(encoding="ascii").splitlines()


def account(lines, begin, end):
    """Exits by reason with what the host did for them and the guest before, in seconds; and what they were for."""
    count, host, guest, what = (collections.Counter() for _ in range(4))
    left, entered, reason = None, None, ""
    for line in lines:
        match = LINE.match(line)
        at = float(match.group(1)) if match else 0
        if not match or not begin <= at <= end:
            left = entered = None
            continue
        event, text = match.group(2), match.group(3)
        if event == "kvm_exit":
            reason = re.search(r"reason (\S+)", text).group(1)
            count[reason] += 1
            guest[reason] += at - entered if entered else 0
            left, entered = at, None
        elif event == "kvm_entry":
            host[reason] += at - left if left else 0
            left, entered = None, at
        else:
            what[" ".join([event, *re.findall(WHAT[event], text)])] += 1
    return count, host, guest, what


def exits(bench):
    """From READY to the program's exit, one traced clone of each build whose template is there."""
    for build in bench.builds:
        begin = time.monotonic()
        (wall, result), lines = traced(lambda build=build: bench.hello(build))
        ready, exited = (begin + result["phases"][name] / 1e9 for name in ("ready_ns", "exited_ns"))
        count, host, guest, what = account(lines, ready, exited)
        yield (f"{build}: {wall:.0f} ms, READY to exit {(exited - ready) * 1e3:.0f}: {sum(count.values())} exits, "
               f"host {sum(host.values()) * 1e3:.0f} ms, guest {sum(guest.values()) * 1e3:.0f} ms")
        for reason, n in count.most_common(8):
            yield f"  {reason:12}{n:6}  host {host[reason] * 1e3:6.0f} ms, guest before {guest[reason] * 1e3:6.0f} ms"
        for name, n in what.most_common(12):
            yield f"  {n:8}  {name}"


def beside_ram(pid):
    """KiB of the largest mapping that are its own, and of all others."""
    mappings = []
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text(encoding="ascii").splitlines():
        match = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
        if match:
            mappings.append([int(match.group(2), 16) - int(match.group(1), 16), 0])
        elif line.startswith("Private_"):
            mappings[-1][1] += int(line.split()[1])
    mappings.sort()
    return mappings[-1][1], sum(own for _, own in mappings[:-1])


def memory(bench):
    """What the control group of a monitor is charged, when Debian's kernel has come to its agent."""
    sys.path.insert(0, "/airlock/tests/guests")
    from vmm_run import MIB, Machine
    kernel, initramfs = bench.objects()
    (GROUPS / "cgroup.subtree_control").write_text("+memory", encoding="ascii")
    wrapper = pathlib.Path("/tmp/in-group")
    for vcpus in (1, 2, 8):
        group = GROUPS / f"memory-of-{vcpus}"
        group.mkdir()
        wrapper.write_text(f'#!/bin/sh\necho $$ >{group}/cgroup.procs\nexec /airlock/build/airlock-vmm "$@"\n', encoding="ascii")
        wrapper.chmod(0o755)
        with Machine("quiet loglevel=3 panic=-1 reboot=t", memory=MEMORY_MIB * MIB, vcpus=vcpus, monitor=wrapper,
                     kernel=kernel, initramfs=initramfs) as machine:
            machine.channel.settimeout(300)
            if not machine.channel.recv(1):
                raise RuntimeError("airlock-vmm ended")
            ram, own = beside_ram(machine.pid)
            stat = dict(line.split() for line in (group / "memory.stat").read_text(encoding="ascii").splitlines())
            charged = int((group / "memory.current").read_text(encoding="ascii")) >> 10
        yield (f"{vcpus} processors: {charged - ram - (int(stat['file']) >> 10)} KiB beside {ram} of RAM and page cache; private {own}, "
               f"tables {(int(stat['pagetables']) + int(stat.get('sec_pagetables', 0))) >> 10}, kernel {int(stat['kernel']) >> 10}")
