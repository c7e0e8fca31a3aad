#!/usr/bin/python3
"""Hostile guests against airlock-vmm on this machine's /dev/kvm. TAP on stdout.

tests/guests/vmm.py [-j N] [--list] [--patience FACTOR] [WORD...]    only tests with all words in their names

What is expected of every attack is written here; what it does, in vmm-*.c, under the same name. There
are three right ends: the device answers as the specification says and the guest comes to its own end
(exit code 0, and the guest found nothing wrong); or the device is broken and the run with it (exit code
66, with the reason); or it goes on until it is told to end, in bounded memory. Never a signal, never a
hang, never more memory, never a disk changed that is read-only.

V numbers: src/vmm/virtq.h and src/vmm/virtio.h name them where they are met.
"""
import argparse
import concurrent.futures
import os
import re
import signal
import socket
import sys
import threading
import time

from vmm_run import EXIT_GUEST, EXIT_OFF, MIB, CHANNEL, Machine, cannot_run

RAM = 32 * MIB
# Beside the guest's RAM: program, stacks, and what Python had in memory before the exec, which counts in ru_maxrss.
MONITOR_BYTES = 24 * MIB
PATIENCE = 10.0

TESTS = []


class Fail(Exception):
    pass


def test(name, function, *arguments, **options):
    TESTS.append((name, function, arguments, options))


def check_end(end):
    """What must be so at every end."""
    if end.code < 0 and end.code != -signal.SIGTERM:
        raise Fail(f"ended by signal {-end.code}, '{end.reason}'")
    if end.rss > RAM + MONITOR_BYTES:
        raise Fail(f"{end.rss >> 20} MiB in memory")
    if not end.disks_kept:
        raise Fail("a read-only disk was written to")
    wrong = re.findall(r"^not: .*$", end.serial, re.M)
    if wrong:
        raise Fail(f"{len(wrong)} wrong answers: " + "; ".join(wrong[:5]))


def describe(end):
    return f"exit {end.code}, '{end.reason}', serial '{end.serial[-200:]}', {end.seconds:.1f} s"


def echo(machine, data):
    """As much as the guest has room for: whoever waits here for it would be waited for by it."""
    try:
        machine.channel.send(data, socket.MSG_DONTWAIT)
    except BlockingIOError:
        pass


def run(command, patience=PATIENCE, on_channel=echo, **options):
    with Machine(command, **options) as machine:
        if not machine.wait(patience * FACTOR, on_channel=on_channel):
            raise Fail(f"no end within {patience * FACTOR:.0f} s; it said '{machine.serial[-300:].decode('ascii', 'replace')}'")
        end = machine.end()
    check_end(end)
    return end


def ends(command, says=None, **options):
    """The guest comes to its own end, with nothing wrong."""
    end = run(command, **options)
    if end.code != EXIT_OFF or end.reason or not end.serial.endswith("done\n"):
        raise Fail(describe(end))
    if says is not None and says not in end.serial:
        raise Fail(f"'{says}' is missing: {describe(end)}")


def off(command, **options):
    """The machine ends in another way than by the reset register, but well."""
    end = run(command, **options)
    if end.code != EXIT_OFF or end.reason:
        raise Fail(describe(end))


def breaks(command, reason, **options):
    """A broken device, or an exit that none may cause, is the end, and its words say what was wrong."""
    end = run(command, **options)
    lines = end.reason.splitlines()
    if end.code != EXIT_GUEST or len(lines) != 1 or not re.match(r"airlock-vmm: .*" + reason, lines[0]):
        raise Fail(describe(end))
    if "done" in end.serial:
        raise Fail(f"the guest went on: {describe(end)}")


def either(command, **options):
    """Both is right: what the guest does is up to chance."""
    end = run(command, **options)
    if end.code not in (EXIT_OFF, EXIT_GUEST) or end.code == EXIT_GUEST and not end.reason:
        raise Fail(describe(end))


def storm(command, until="storm\n", seconds=1.5, read_serial=True, flood=None, **options):
    """It goes on and on: memory stays, SIGTERM is answered at once."""
    with Machine(command, **options) as machine:
        if machine.wait(PATIENCE * FACTOR, until):
            raise Fail("it ended: " + describe(machine.end()))
        if until.encode() not in machine.serial:
            raise Fail("it did not begin")
        machine.wait(0.3, read_serial=read_serial)
        before = machine.status("VmRSS")
        if machine.wait(seconds, read_serial=read_serial):
            raise Fail("it ended: " + describe(machine.end()))
        grown = machine.status("VmRSS") - before
        machine.signal(signal.SIGTERM)
        asked = time.monotonic()
        if not machine.wait(PATIENCE * FACTOR):
            raise Fail("SIGTERM does not end it")
        late = time.monotonic() - asked
        end = machine.end()
    check_end(end)
    if end.code != -signal.SIGTERM:
        raise Fail(describe(end))
    if grown > 256:
        raise Fail(f"{grown} KiB more in {seconds} s")
    if late > 5.0 * FACTOR:  # at rest it is some milliseconds; this is not
        raise Fail(f"SIGTERM is answered after {late:.1f} s")


def serial_stalled(command):
    """Nobody reads what the guest prints: it goes on, the rest is dropped."""
    with Machine(command) as machine:
        if not machine.wait(3 * PATIENCE * FACTOR, read_serial=False):
            raise Fail("a guest waits for the reader of its console")
        end = machine.end()
    if end.code != EXIT_OFF:
        raise Fail(describe(end))
    if not 0 < len(end.serial) <= 80 * 1024:
        raise Fail(f"{len(end.serial)} bytes of its output are there")


def host_flood(command):
    """The other side of the port writes without end."""
    with Machine(command) as machine:
        machine.channel.setblocking(True)
        stop = threading.Event()

        def flood():
            try:
                while not stop.is_set():
                    machine.channel.send(b"\xa5" * 65536, socket.MSG_DONTWAIT)
            except BlockingIOError:
                time.sleep(0.01)
            except OSError:
                pass
        thread = threading.Thread(target=flood)
        thread.start()
        done = machine.wait(2 * PATIENCE * FACTOR)
        stop.set()
        thread.join()
        if not done:
            raise Fail("no end: " + machine.serial[-300:].decode("ascii", "replace"))
        end = machine.end()
    check_end(end)
    if end.code != EXIT_OFF:
        raise Fail(describe(end))


def closed_channel(command):
    with Machine(command) as machine:
        if machine.wait(PATIENCE * FACTOR, "close\n"):
            raise Fail("it ended: " + describe(machine.end()))
        machine.channel.shutdown(socket.SHUT_RDWR)
        machine.channel.close()
        if not machine.wait(PATIENCE * FACTOR):
            raise Fail("no end")
        end = machine.end()
    check_end(end)
    if end.code != EXIT_OFF:
        raise Fail(describe(end))


def all_named():
    """Every attack that the guest knows is in a test, and every test names one that it knows."""
    end = run("list")
    known = {name for name in end.serial.split() if not name.startswith("state-")} - {"done"}  # vmm_state.py
    named = {arguments[0].split()[0] for _, _, arguments, _ in TESTS if arguments} - {"list"}
    if known != named:
        raise Fail(f"no test: {sorted(known - named)}, no attack: {sorted(named - known)}")
    bad = set(run("queue-setup list 0").serial.split()) - {"done"}
    tried = {arguments[0].split()[1] for _, _, arguments, _ in TESTS if arguments and arguments[0].startswith("queue-setup")}
    if bad != tried:
        raise Fail(f"bad queues: {sorted(bad ^ tried)}")


def declare_registers():
    test("V11 odd widths and offsets read as zero", ends, "odd-reads", patience=30)
    test("V11 odd widths and offsets write nothing", ends, "odd-writes", patience=30)
    test("V11 eight bytes at once are no register", ends, "wide", patience=30)
    test("V11 string instructions over a window are single accesses", ends, "string-instructions")
    test("V11 the configuration space has an end and is not written to", ends, "config-space", patience=30)
    for seed in range(1, 9):
        test(f"V9 V11 any value in any register, round {seed}", either, f"garbage any {seed}")
    test("V11 addresses without RAM or device read as all ones", ends, "edges")
    test("V11 ports without device read as all ones and end nothing", ends, "ports", patience=30)
    test("V11 many values with one port instruction are one after the other", ends, "port-strings", says="x" * 100)
    test("the sleep register switches the machine off", off, "sleep")
    test("a triple fault is a restart, and that is the end", off, "triple-fault")
    test("code where nothing is ends the run", breaks, "run-nowhere", "")
    test("code in a device's window ends the run", breaks, "run-device", "")
    test("KVM's interrupt controllers are not ours to break", ends, "interrupt-controllers", patience=30)
    test("interrupt commands to processors that do not exist are nothing", ends, "interrupt-commands")
    test("interrupt commands to a second processor are its own trouble", either, "interrupt-commands", vcpus=2)
    for order in range(6):
        test(f"V9 status out of order, way {order}, breaks the device", breaks, f"status-order any {order}", "status")
    test("V9 features that are not offered are refused", ends, "features-not-offered", patience=30)
    test("V9 there are no features beyond bit 63", ends, "feature-selectors")
    for selector in (2, 33, 4294967295):
        test(f"V9 features at selector {selector} break the device", breaks, f"features-beyond any {selector}", "features")
    test("V9 features after FEATURES_OK break the device", breaks, "features-late rng", "features")


QUEUE_REASONS = {
    "size-0": "0 descriptors", "size-3": "3 descriptors", "size-512": "512 descriptors",
    "size-65536": "65536 descriptors", "size-65552": "65552 descriptors", "size-all-ones": "4294967295 descriptors",
    "desc-unaligned": "table.*aligned", "avail-unaligned": "available.*aligned", "used-unaligned": "used.*aligned",
    "desc-at-end": "table.*not in RAM", "avail-at-end": "available.*not in RAM", "used-at-end": "used.*not in RAM",
    "desc-across-end": "table.*not in RAM", "avail-across-end": "available.*not in RAM",
    "used-across-end": "used.*not in RAM",
    "desc-wraps": "table.*not in RAM", "avail-wraps": "available.*not in RAM", "used-wraps": "used.*not in RAM",
    "desc-beyond-4g": "table.*not in RAM", "desc-in-window": "table.*not in RAM",
    "avail-in-window": "available.*not in RAM", "used-in-window": "used.*not in RAM", "used-in-apic": "used.*not in RAM",
    "desc-is-avail": "overlap", "desc-is-used": "overlap", "avail-is-used": "overlap",
}
TARGETS = ("rng", "blk", "control", "tx")
DEVICES = {2: "the disk", 3: "the console", 4: "entropy"}
# name: the numbers of the table of invariants, the words of the reason
CHAINS = {
    "outside": ("V1", "not in RAM"), "across-end": ("V1", "not in RAM"), "far-outside": ("V1", "not in RAM"),
    "wraps": ("V1", "not in RAM"), "wraps-into-ram": ("V1", "not in RAM"), "all-memory": ("V1 V14", "not in RAM"),
    "in-hole": ("V1", "not in RAM"), "in-window": ("V1 V19", "not in RAM"), "in-apic": ("V1 V19", "not in RAM"),
    "next-beyond": ("V2", "goes on with"), "next-far-beyond": ("V2", "goes on with"),
    "indirect": ("V2", "flags"), "indirect-and-next": ("V2", "flags"),
    "loop-one": ("V2", "more descriptors"), "loop-two": ("V2", "more descriptors"), "too-many-bytes": ("V14", "more than"),
    "out-after-in": ("V6", ""), "wrong-way": ("V6", ""), "no-bytes": ("V3", "no bytes"),
    "no-bytes-outside": ("V3", "no bytes"), "many-without-bytes": ("V3", "no bytes"), "unknown-flags": ("V2", "flags"),
}


def declare_queues():
    for name, reason in QUEUE_REASONS.items():
        numbers = "V8" if name.startswith("size") else "V7"
        for device, text in DEVICES.items():
            test(f"{numbers} a queue with {name} breaks {text}", breaks, f"queue-setup {name} {device}", reason)
    test("V8 queues of every proper size work", ends, "queue-sizes")
    test("V10 queues that do not exist have no size", ends, "queue-selectors rng")
    for selector in range(11):
        test(f"V10 setting up a queue that does not exist, number {selector}", breaks, f"queue-select any {selector}", "queue")
    for target in TARGETS:
        test(f"V10 kicks of queues that do not exist are nothing to {target}", ends, f"notify-beyond {target}")
    test("V9 kicks before DRIVER_OK and of queues that are not ready are nothing", ends, "notify-early")
    for register, name in ((0x38, "size"), (0x80, "table"), (0x90, "available ring"), (0xa4, "used ring")):
        test(f"V8 a new {name} after the queue is ready breaks the device", breaks, f"change-after-ready rng {register}", "")
    test("V16 a queue that is not ready any more breaks the device", breaks, "unready rng", "")
    for target in TARGETS:
        test(f"V4 the available index of {target} jumps", breaks, f"avail-jump {target}", "index")
        test(f"V4 the available index of {target} goes back", breaks, f"avail-backwards {target}", "index")
        test(f"V2 a chain of {target} begins beyond the queue", breaks, f"head-beyond {target}", "head")
        test(f"V2 a chain of {target} begins far beyond the queue", breaks, f"head-beyond {target} 65535", "head")
        test(f"a full ring of {target} is used to its end", ends, f"full-ring {target}")
    # The device is free to give a buffer back before it looks at the next: then the second is no lie.
    test("V5 the same buffer twice in flight is given back or breaks the console", either, "head-twice")
    test("V19 entropy over its own rings", either, "own-ring rng")
    for sector in (0, 3, 100):
        test(f"V19 sector {sector} of a disk over its own rings", either, f"own-ring-disk blk {sector}")


def declare_chains():
    for target in TARGETS:
        for name, (numbers, reason) in CHAINS.items():
            test(f"{numbers} {name} breaks {target}", breaks, f"{name} {target}", reason)
        for name in ("across-hole", "before-high", "after-high"):
            test(f"V1 {name} breaks {target} in a machine of 4 GiB", breaks, f"{name} {target}", "not in RAM", memory=4096 * MIB)
        for seed in range(1, 4):
            test(f"V1 V2 any table breaks {target} or not, round {seed}", either, f"random-tables {target} {seed}")


def declare_devices():
    test("the disks read, write, flush and have names", ends, "disk-use")
    test("V13 sectors beyond the end are errors", ends, "disk-sectors")
    test("V13 a read-only disk is not written to", ends, "disk-read-only")
    test("V13 parts of sectors are errors", ends, "disk-odd-lengths")
    test("V13 unknown requests are not supported", ends, "disk-types")
    test("V13 a request in pieces is one", ends, "disk-in-pieces")
    for part in ("status", "status-bytes", "header", "header-half", "all-but-header"):
        test(f"V13 a request that lacks something ({part}) breaks the disk", breaks, f"disk-parts-missing {part}", "")
    test("V13 V14 large requests, and data over the request itself", ends, "disk-large", patience=30)
    test("devices reach the memory behind the hole", ends, "disk-high-memory", memory=4096 * MIB)
    test("V16 a disk is reset while it works", ends, "disk-reset", patience=30)
    test("the port carries bytes both ways", ends, "console-use")
    for seed in range(1, 4):
        test(f"V14 a flood of control messages, round {seed}", ends, f"control-flood any {seed}", patience=30)
    for lie in range(14):
        test(f"V14 a control message that no driver sends, number {lie}", breaks, f"control-bogus any {lie}", "control message")
    test("V14 a port that is open before its console is ready", breaks, "control-early", "control message")
    test("V14 control messages without a buffer for the answers", ends, "control-without-buffers", patience=30)
    for size in ("short", "empty", "long"):
        test(f"V14 control messages of a wrong size ({size}) break the console", breaks, f"control-sizes {size}", "control message")
    test("V14 buffers too small for the console's messages break it", breaks, "control-small-buffers", "control messages")
    test("V14 a port that was never announced is nothing", ends, "port-zero")
    test("V14 a port that was never opened takes what it is given", ends, "port-unopened")
    test("V14 a console without the feature of ports has no control queue to lie to", breaks, "without-ports", "")
    test("V14 V16 nobody reads what the port is given", storm, "write-to-nobody", until="full\n")
    test("V16 the console is reset amid a chain that nobody reads", ends, "write-to-nobody-reset", on_channel=None)
    test("V14 the host floods a port that has no buffers", host_flood, "host-flood")
    test("V14 the other end of the port is gone", closed_channel, "closed-channel")
    test("V14 a request for 16 MiB of entropy gets a handful", ends, "rng-huge rng")


def declare_storms():
    for target in ("rng", "blk", "control"):
        test(f"V16 a storm of kicks to {target}", storm, f"notify-storm {target} {3 if target == 'control' else 0}")
    test("V16 a storm of kicks to a queue that is not ready", storm, "notify-storm control 1")
    for target in ("rng", "blk"):
        test(f"V16 a storm of requests and interrupts to {target}", storm, f"work-storm {target}")
        test(f"V16 {target} is reset in the middle, again and again", ends, f"reset-storm {target}", patience=30)
    test("V16 a storm of reads of registers and ports", storm, "register-storm")
    test("V17 a flood on the serial port with nobody reading", serial_stalled, "serial-flood")
    test("V17 a storm on the serial port with nobody reading", storm, "serial-storm", read_serial=False)
    test("V17 a storm on the serial port that is read", storm, "serial-storm")
    test("V11 the serial port's registers, set to anything", ends, "serial-registers", says="prints")
    test("a processor that turns for ever is ended from outside", storm, "spin")
    test("a processor that waits for a word in memory is ended from outside", storm, "wait")
    test("a processor that halts for ever is ended from outside", storm, "halt")
    for target in TARGETS:
        for times in (300, 302, 304):
            test(f"V12 a second processor rewrites what {target} reads, {times} requests", either,
                 f"second-lies {target} {times}", vcpus=2, patience=30)
        test(f"V12 a second processor swaps good for good while {target} reads", ends,
             f"second-lies {target} 2001", vcpus=2, patience=60)
    test("V16 a second processor resets what the first one uses", either, "second-resets rng", vcpus=2, patience=30)
    for target in ("rng", "blk", "tx"):
        test(f"V16 seven processors storm all devices while {target} works", ends, f"all-at-once {target} 50", vcpus=8, patience=60)
    for target in ("rng", "blk"):
        test(f"a second processor ends the machine while {target} works", off, f"second-ends {target}", vcpus=2)


def attempt(entry):
    name, function, arguments, options = entry
    begin = time.monotonic()
    try:
        function(*arguments, **options)
        return name, None, time.monotonic() - begin
    except (Fail, OSError, RuntimeError) as fail:
        return name, f"{fail}" or repr(fail), time.monotonic() - begin


def main():
    global FACTOR
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-j", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--patience", type=float, default=1.0)
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    FACTOR = options.patience
    for declare in (declare_registers, declare_queues, declare_chains, declare_devices, declare_storms):
        declare()
    test("every attack of the guest is in a test", all_named)
    chosen = [t for t in TESTS if all(word in t[0] for word in options.words)]
    if options.list:
        for entry in chosen:
            print(entry[0])
        return 0
    reason = cannot_run()
    if reason:
        print(f"   vmm: NO HOSTILE GUEST RUNS HERE, the monitor's devices are not attacked: {reason}", file=sys.stderr)
        print(f"ok 1 - {len(chosen)} hostile guests # SKIP {reason}\n1..1", flush=True)
        return 0
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        for number, (name, wrong, seconds) in enumerate(pool.map(attempt, chosen), 1):
            failed += wrong is not None
            print(f"{'not ok' if wrong else 'ok'} {number} - {name}" + (f"\n# {wrong}" if wrong else ""), flush=True)
            if wrong or seconds > 5:
                print(f"   vmm {number}: {name} ({seconds:.1f} s){': ' + wrong if wrong else ''}", file=sys.stderr)
    print(f"1..{len(chosen)}", flush=True)
    return 1 if failed or not chosen else 0


FACTOR = 1.0
if __name__ == "__main__":
    sys.exit(main())
