#!/usr/bin/python3
"""Machines that are saved and go on, on this machine's /dev/kvm. TAP on stdout.

tests/guests/vmm_state.py [-v] [WORD...]    only tests with all words in their names

The guests are in vmm-state.c. Each is saved by the control socket, as a template is; what goes on is
another process with the same memory file, privately, as a clone is.
"""
import argparse
import os
import random
import select
import signal
import struct
import sys
import time

from vmm_run import CONTROL, EXIT_HOST, EXIT_OFF, EXIT_STATE, MEMORY, MIB, STATE, Machine, cannot_run

RAM = 32 * MIB
FIRST, SECOND = 0x3000, 0x3100  # struct shared of vmm-state.c
FOREVER = 0xffffffff
PATIENCE = 30
TARGETS = ("rng", "blk", "control", "tx")


class Fail(Exception):
    pass


def word(memory, at):
    return struct.unpack("<I", os.pread(memory, 4, at))[0]


def set_word(memory, at, value):
    os.pwrite(memory, struct.pack("<I", value), at)


def hash_of(count):
    """What the guest's register holds after so many turns."""
    value = 0
    for number in range(1, count + 1):
        value = (value * 1664525 + number) & 0xffffffff
    return value


def listen(machine, data):
    """What the guest writes is read, and nothing answered: it has no buffers for it."""


class Saved:
    """A machine that said "ready", ran a while and was saved: its memory file and its state."""

    def __init__(self, command, vcpus=1, seconds=0.1, memory=RAM):
        self.vcpus, self.command = vcpus, command
        self.memory = os.memfd_create("memory", os.MFD_CLOEXEC)
        os.ftruncate(self.memory, memory)
        self.scratch = None
        with Machine(command, vcpus=vcpus, memory=memory, control=True, memory_fd=self.memory) as machine:
            if machine.wait(PATIENCE, until="ready\n", on_channel=listen):
                raise Fail(f"not ready: {describe(machine.end())}")
            machine.wait(seconds, on_channel=listen)
            self.state = machine.save()
            if not machine.wait(PATIENCE):
                raise Fail("saved, but it does not end")
            end = machine.end()
            if end.code != EXIT_OFF or end.reason or "not:" in end.serial:
                raise Fail(f"saved: {describe(end)}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.memory)
        os.close(self.state)

    def restore(self, state=None, **options):
        """A machine that goes on from it. Its state file is its own, as from a store."""
        fd = os.open(f"/proc/self/fd/{self.state if state is None else state}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return Machine(restore=True, control=True, memory_fd=self.memory, state_fd=fd,
                           **{"vcpus": self.vcpus, "memory": RAM, **options})
        finally:
            os.close(fd)

    def goes_on(self, **options):
        """Restores it and waits for its end, at which it has found nothing wrong. What it said since."""
        with self.restore(**options) as machine:
            if not select.select([machine.control], [], [], PATIENCE)[0] or machine.control.recv(2) != b"R\n":
                machine.wait(1)
                raise Fail(f"it does not say that it goes on: {machine.reason}")
            if not machine.wait(PATIENCE, on_channel=listen):
                raise Fail(f"no end; it said {machine.serial[-300:]}")
            end = machine.end()
        if end.code != EXIT_OFF or end.reason or "not:" in end.serial or not end.serial.endswith("done\n"):
            raise Fail(describe(end))
        if "ready" in end.serial:
            raise Fail("it began anew")
        return end.serial

    def refused(self, *words, **options):
        """Why it does not go on."""
        with self.restore(**options) as machine:
            if not machine.wait(PATIENCE):
                raise Fail("it goes on")
            end = machine.end()
        if end.code != EXIT_STATE or not all(w in end.reason for w in words) or end.serial:
            raise Fail(f"{describe(end)}; wanted {words}")


def describe(end):
    return f"exit {end.code}, '{end.reason}', serial '{end.serial[-200:]}'"


def counts(serial, who, count):
    """The guest's own words for having taken every turn once."""
    want = f"{who} counted 0x{count:08x} hash 0x{hash_of(count):08x}\n"
    if want not in serial:
        raise Fail(f"'{want.strip()}' is missing in '{serial}'")


def counter_goes_on():
    with Saved("state-count", seconds=random.uniform(0.02, 0.3)) as saved:
        at = word(saved.memory, FIRST + 4)
        if at == 0:
            raise Fail("it had not begun to count")
        for turns in (1, 300, 20):
            set_word(saved.memory, FIRST, at + turns)
            serial = saved.goes_on()
            counts(serial, "first", at + turns)
        if word(saved.memory, FIRST + 4) != at:
            raise Fail("what goes on wrote to the memory that others go on from")


def two_at_once():
    with Saved("state-count") as saved:
        until = word(saved.memory, FIRST + 4) + 500
        set_word(saved.memory, FIRST, until)
        with saved.restore() as one, saved.restore() as other:
            for machine in (one, other):
                if not machine.wait(PATIENCE):
                    raise Fail("no end")
                counts(machine.end().serial, "first", until)


def any_moment():
    """Saved at many moments, most of them in the middle of a port's or register's access."""
    for _ in range(15):
        with Saved("state-count", seconds=random.uniform(0, 0.02)) as saved:
            until = word(saved.memory, FIRST + 4) + 50
            set_word(saved.memory, FIRST, until)
            counts(saved.goes_on(), "first", until)


def two_processors():
    with Saved("state-two", vcpus=2) as saved:
        firsts, seconds = (word(saved.memory, at + 4) + 200 for at in (FIRST, SECOND))
        for _ in range(2):
            set_word(saved.memory, FIRST, firsts)
            set_word(saved.memory, SECOND, seconds)
            serial = saved.goes_on()
            counts(serial, "first", firsts)
            counts(serial, "second", seconds)


def sleeping_processors():
    with Saved("state-sleeper", vcpus=8) as saved:
        set_word(saved.memory, FIRST, 1)
        saved.goes_on()


def device_goes_on(target):
    with Saved(f"state-device {target}") as saved:
        set_word(saved.memory, FIRST, 1)
        saved.goes_on()
        saved.goes_on()


def busy_device(target):
    for _ in range(4):
        with Saved(f"state-busy {target}", seconds=random.uniform(0, 0.1)) as saved:
            set_word(saved.memory, FIRST, 1)
            saved.goes_on()


def other_machine():
    with Saved("state-count") as saved:
        saved.refused("1 processors", vcpus=2)
        os.ftruncate(saved.memory, 2 * RAM)
        saved.refused("33554432 bytes of memory", memory=2 * RAM)


def state_with_more_behind_it():
    """As in a template's file."""
    with Saved("state-count") as saved:
        os.pwrite(saved.state, b"more", os.fstat(saved.state).st_size)
        until = word(saved.memory, FIRST + 4) + 10
        set_word(saved.memory, FIRST, until)
        counts(saved.goes_on(), "first", until)


def damaged_state():
    with Saved("state-count") as saved:
        whole = os.pread(saved.state, 1 << 20, 0)
        flip = random.randrange(24, len(whole))
        huge = (4 << 20).to_bytes(4, "little")
        other = whole[8] + 1  # a version that is not there yet
        for data, why in ((whole[:-1], "bytes"), (whole[:12] + huge + whole[16:], "should have 4194304"), (b"", "no saved machine"), (whole[:10], "no saved machine"),
                          (whole[:flip] + bytes([whole[flip] ^ 1]) + whole[flip + 1:], "checksum"),
                          (whole[:8] + bytes([other]) + whole[9:], f"version {other}"), (b"x" * (2 << 20), "no saved machine"),
                          (os.urandom(5000), "no saved machine")):
            state = os.memfd_create("damaged", os.MFD_CLOEXEC)
            try:
                os.write(state, data)
                saved.refused(why, state=state)
            finally:
                os.close(state)


def stopped_by_the_host():
    with Machine("state-count") as machine:
        if machine.wait(PATIENCE, until="ready\n", on_channel=listen):
            raise Fail(f"not ready: {describe(machine.end())}")
        for _ in range(20):
            machine.signal(signal.SIGSTOP)
            time.sleep(0.01)
            machine.signal(signal.SIGCONT)
            if machine.wait(0.02, on_channel=listen):
                raise Fail(describe(machine.end()))


def memory_too_short():
    with Saved("state-count") as saved:
        os.ftruncate(saved.memory, RAM - 4096)
        with saved.restore() as machine:
            if not machine.wait(PATIENCE):
                raise Fail("it goes on")
            end = machine.end()
            if end.code != EXIT_HOST or "memory" not in end.reason:
                raise Fail(describe(end))


def pages_copied_ahead():
    with Saved("state-count", seconds=0.05) as saved:
        for writes in ([(0, 0)], [(0, 1), (3, 5), (0, 0)], [(0, RAM // 4096), (0, 0), (7, 0xffffffff)]):
            at = word(saved.memory, FIRST + 4)
            set_word(saved.memory, FIRST, at + 100)
            counts(saved.goes_on(writes=writes), "first", at + 100)


def pages_that_are_not_there():
    with Saved("state-count") as saved:
        for writes in ([(RAM // 4096, 1), (0, 0)], [(1, 0xffffffff), (0, 0)], [(0xffffffff, 0xffffffff)], [(1, 1)], []):
            with saved.restore(writes=writes) as machine:
                if not machine.wait(PATIENCE):
                    raise Fail(f"it goes on with {writes}")
                end = machine.end()
                if end.code != EXIT_HOST or "it has no page" not in end.reason or end.serial:
                    raise Fail(f"{writes}: {describe(end)}")


def descriptors_missing():
    with Saved("state-count") as saved:
        for number in (STATE, MEMORY, CONTROL):
            with saved.restore(without=[number]) as machine:
                if not machine.wait(PATIENCE):
                    raise Fail(f"it goes on without descriptor {number}")
                end = machine.end()
                if end.code == EXIT_OFF or not end.reason:
                    raise Fail(f"without descriptor {number}: {describe(end)}")


def nonsense_on_control():
    for message in (b"S", b"x", b"R"):
        memory = os.memfd_create("memory", os.MFD_CLOEXEC)
        os.ftruncate(memory, RAM)
        with Machine("state-count", control=True, memory_fd=memory) as machine:
            os.close(memory)
            machine.wait(PATIENCE, until="ready\n")
            machine.control.send(message)
            if not machine.wait(PATIENCE):
                raise Fail(f"it goes on after {message}")
            end = machine.end()
            if end.code != EXIT_HOST or "control" not in end.reason:
                raise Fail(describe(end))


def restored_machine_is_not_saved():
    with Saved("state-count") as saved, saved.restore() as machine:
        machine.control.recv(2)
        try:
            os.close(machine.save())
            raise Fail("it was saved")
        except (RuntimeError, ConnectionError):
            pass
        if not machine.wait(PATIENCE):
            raise Fail("it goes on")
        if machine.end().code != EXIT_HOST:
            raise Fail(describe(machine.ended))


def state_that_cannot_be_written():
    memory = os.memfd_create("memory", os.MFD_CLOEXEC)
    os.ftruncate(memory, RAM)
    with Machine("state-count", control=True, memory_fd=memory) as machine:
        os.close(memory)
        machine.wait(PATIENCE, until="ready\n")
        null = os.open("/dev/full", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.close(machine.save(into=null))
            raise Fail("it was saved")
        except RuntimeError as error:
            if "b'E'" not in str(error) or "No space left" not in str(error):
                raise Fail(str(error)) from None
        finally:
            os.close(null)
        if not machine.wait(PATIENCE):
            raise Fail("it goes on")
        if machine.end().code != EXIT_HOST:
            raise Fail(describe(machine.ended))


def control_that_goes_away():
    memory = os.memfd_create("memory", os.MFD_CLOEXEC)
    os.ftruncate(memory, RAM)
    with Machine("state-count", control=True, memory_fd=memory) as machine:
        machine.wait(PATIENCE, until="ready\n")
        machine.control.close()
        if machine.wait(0.2):
            raise Fail(f"it ends: {describe(machine.end())}")
        set_word(memory, FIRST, 1)
        os.close(memory)
        if not machine.wait(PATIENCE) or machine.end().code != EXIT_OFF:
            raise Fail("it does not end by itself")


TESTS = [
    ("a machine goes on exactly where it was saved, again and again", counter_goes_on),
    ("two machines go on from one state at once", two_at_once),
    ("a machine is saved at any moment", any_moment),
    ("two processors go on, each where it was", two_processors),
    ("processors that were never started can be started after the restore", sleeping_processors),
    *[(f"the device of {t} goes on with its queues", lambda t=t: device_goes_on(t)) for t in TARGETS],
    *[(f"a machine is saved while {t} is busy", lambda t=t: busy_device(t)) for t in TARGETS],
    ("another machine is refused with the reason", other_machine),
    ("what stands behind a state in its file is not looked at", state_with_more_behind_it),
    ("a damaged state is refused with the reason", damaged_state),
    ("a machine that the host stops (SIGSTOP) goes on with SIGCONT", stopped_by_the_host),
    ("a memory file that is too short is refused", memory_too_short),
    ("a machine goes on with pages copied before it writes them", pages_copied_ahead),
    ("a list of pages that are not there, or without an end, is refused", pages_that_are_not_there),
    ("a restore without one of its descriptors is refused", descriptors_missing),
    ("nonsense on the control socket ends the machine", nonsense_on_control),
    ("a restored machine is not saved", restored_machine_is_not_saved),
    ("a state that cannot be written is told", state_that_cannot_be_written),
    ("a control socket that goes away leaves the machine alone", control_that_goes_away),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-v", action="store_true", help="how long each took")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    chosen = [t for t in TESTS if all(w in t[0] for w in options.words)]
    reason = cannot_run()
    if reason:
        print(f"   vmm: NO MACHINE IS SAVED HERE: {reason}", file=sys.stderr)
        print(f"ok 1 - {len(chosen)} machines that are saved # SKIP {reason}\n1..1", flush=True)
        return 0
    failed = 0
    for number, (name, function) in enumerate(chosen, 1):
        begin = time.monotonic()
        wrong = None
        try:
            function()
        except (Fail, RuntimeError, OSError) as error:
            wrong = f"{type(error).__name__}: {error}"
            failed += 1
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}" + (f"\n# {wrong}" if wrong else ""), flush=True)
        if wrong or options.v:
            print(f"   vmm state {number}: {name} ({time.monotonic() - begin:.1f} s){': ' + wrong if wrong else ''}", file=sys.stderr)
    print(f"1..{len(chosen)}", flush=True)
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
