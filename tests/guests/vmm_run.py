"""Starts airlock-vmm as a supervisor would: the descriptors of src/vmm/start.h, arguments, and then watches.

No jail and no supervisor: what is tested with this is the monitor alone. A Machine is one run.
"""
import array
import dataclasses
import fcntl
import mmap
import os
import pathlib
import select
import signal
import socket
import struct
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("AIRLOCK_BUILD", ROOT / "build"))
MONITOR = BUILD / "airlock-vmm"
GUEST = BUILD / "tests" / "guests" / "vmm-hostile"

CONSOLE, STDERR, CHANNEL, KERNEL, INITRAMFS, DISK_ROOT, DISK_INPUT, DISK_SCRATCH, CONTROL, MEMORY, STATE, KVM, WRITES = range(1, 14)
EXIT_OFF, EXIT_USAGE, EXIT_HOST, EXIT_GUEST, EXIT_STATE = 0, 64, 65, 66, 67
MIB = 1 << 20
DISK_BYTES = {DISK_ROOT: 64 << 10, DISK_INPUT: 64 << 10, DISK_SCRATCH: MIB}

KVM_CREATE_VM, KVM_CREATE_VCPU, KVM_RUN = 0xAE01, 0xAE41, 0xAE80
KVM_GET_VCPU_MMAP_SIZE, KVM_SET_USER_MEMORY_REGION = 0xAE04, 0x4020AE46
KVM_EXIT_IO = 2


def cannot_run():
    """Why this machine's KVM can't run bare metal, or None: one instruction of real mode, and nothing of the monitor."""
    try:
        kvm = os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        return f"/dev/kvm: {error.strerror}"
    fds, page, run = [kvm], mmap.mmap(-1, 4096), None
    try:
        import ctypes
        vm = fcntl.ioctl(kvm, KVM_CREATE_VM, 0)
        fds.append(vm)
        page[0xff0:0xff4] = b"\xb0\x2a\xe6\x80"  # mov al, 42; out 0x80, al: where a processor begins
        at = ctypes.addressof(ctypes.c_char.from_buffer(page))
        fcntl.ioctl(vm, KVM_SET_USER_MEMORY_REGION, struct.pack("IIQQQ", 0, 0, 0xfffff000, 4096, at))
        cpu = fcntl.ioctl(vm, KVM_CREATE_VCPU, 0)
        fds.append(cpu)
        run = mmap.mmap(cpu, fcntl.ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0))
        fcntl.ioctl(cpu, KVM_RUN, 0)
        reason = struct.unpack_from("I", run, 8)[0]
        return None if reason == KVM_EXIT_IO else f"/dev/kvm: a first instruction ends with exit {reason}"
    except OSError as error:
        return f"/dev/kvm: {error.strerror}"
    finally:
        for fd in reversed(fds):
            os.close(fd)


def spawn(binary, arguments, descriptors, environment=None):
    """The program with exactly these descriptors, by their numbers there. Returns its pid."""
    high = {to: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for to, fd in descriptors.items()}
    try:
        actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)]
        if CONSOLE not in high:
            actions.append((os.POSIX_SPAWN_OPEN, CONSOLE, "/dev/null", os.O_WRONLY, 0))
        actions += [(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in high.items()]
        # What a shell left open without telling must not look like one of the monitor's.
        actions += [(os.POSIX_SPAWN_CLOSE, fd) for fd in range(3, 64) if fd not in high]
        return os.posix_spawn(str(binary), [str(binary)] + arguments, environment or {}, file_actions=actions)
    finally:
        for fd in high.values():
            os.close(fd)


def disk(size, writable):
    """An unlinked file whose every sector begins with its number; opened anew, so that read-only is read-only."""
    with tempfile.TemporaryFile() as file:
        for sector in range(size // 512):
            file.write(struct.pack("<I", sector) + b"\xd5" * 508)
        file.flush()
        return os.open(f"/proc/self/fd/{file.fileno()}", (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC)


@dataclasses.dataclass
class End:
    """What came of a run. code: the exit code, or minus the signal. seconds: wall; cpu: of the monitor."""
    code: int
    reason: str
    serial: str
    seconds: float
    cpu: float
    rss: int
    channel: bytes
    disks_kept: bool


class Machine:
    """One monitor and what it is connected with. Close it (a with statement does)."""

    def __init__(self, command="", memory=32 * MIB, vcpus=1, monitor=MONITOR, kernel=GUEST, restore=False,
                 control=False, memory_fd=None, state_fd=None, writes=None, environment=None, extra=None, without=(), initramfs=None):
        self.fds = {}
        self.serial_fd, self.fds[CONSOLE] = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.fds[CONSOLE], False)
        self.stderr_fd, self.fds[STDERR] = os.pipe2(os.O_CLOEXEC)
        self.channel, other = socket.socketpair()
        other.setblocking(False)
        self.fds[CHANNEL] = other.detach()
        for number, size in DISK_BYTES.items():
            self.fds[number] = disk(size, number == DISK_SCRATCH)
        self.digests = [self.digest(number) for number in (DISK_ROOT, DISK_INPUT)]
        self.fds[KVM] = os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC)
        arguments = ["--memory", str(memory), "--vcpus", str(vcpus), "--disks", "--console"]
        if restore:
            arguments.append("--restore")
        else:
            self.fds[KERNEL] = os.open(kernel, os.O_RDONLY | os.O_CLOEXEC)
            arguments += ["--cmdline", command]
            if initramfs is not None:
                self.fds[INITRAMFS] = os.open(initramfs, os.O_RDONLY | os.O_CLOEXEC)
        self.control = None
        if control:
            self.control, other = socket.socketpair()
            self.fds[CONTROL] = other.detach()
        for number, fd in ((MEMORY, memory_fd), (STATE, state_fd)):
            if fd is not None:
                self.fds[number] = os.dup(fd)
        if writes is not None:  # pairs of numbers, as start.h has them
            self.fds[WRITES] = os.memfd_create("writes", os.MFD_CLOEXEC)
            os.write(self.fds[WRITES], struct.pack(f"<{2 * len(writes)}I", *(number for pair in writes for number in pair)))
            os.lseek(self.fds[WRITES], 0, os.SEEK_SET)
        for number in without:
            os.close(self.fds.pop(number))
        self.kept = {number: os.dup(self.fds[number]) for number in (DISK_ROOT, DISK_INPUT) if number in self.fds}
        self.start = time.monotonic()
        self.pid = spawn(monitor, arguments + (extra or []), self.fds, environment)
        for fd in self.fds.values():
            os.close(fd)
        self.pidfd = os.pidfd_open(self.pid)
        self.ended = None
        self.serial = b""
        self.reason = b""
        self.received = b""

    def digest(self, number):
        return hash(os.pread(self.fds[number], DISK_BYTES[number], 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.ended is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        for fd in [self.serial_fd, self.stderr_fd, self.pidfd, *self.kept.values()]:
            os.close(fd)
        self.channel.close()
        if self.control:
            self.control.close()

    def signal(self, number):
        os.kill(self.pid, number)

    def status(self, field):
        """A number of /proc/PID/status."""
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1])
        raise KeyError(field)

    def _take(self, fd, limit):
        """What is there to read on a pipe, without waiting; counts as read even when it is not kept."""
        data = b""
        while select.select([fd], [], [], 0)[0]:
            more = os.read(fd, 65536)
            if not more:
                break
            data += more
            if len(data) > limit:
                break
        return data

    def wait(self, seconds, until=None, read_serial=True, on_channel=None):
        """
        Serves the machine until it ends (True), `until` was said on its serial port, or time is up
        (both False). on_channel(self, data) is called with what comes from the port.
        """
        end = time.monotonic() + seconds
        fds = {self.pidfd, self.stderr_fd}
        fds |= {self.serial_fd} if read_serial else set()
        fds |= {self.channel.fileno()} if on_channel else set()
        while True:
            left = end - time.monotonic()
            ready = select.select(list(fds), [], [], max(0, left))[0]
            if self.serial_fd in ready:
                data = os.read(self.serial_fd, 65536)
                self.serial = (self.serial + data)[-65536:]
                if not data:
                    fds.discard(self.serial_fd)
            if self.stderr_fd in ready:
                data = os.read(self.stderr_fd, 4096)
                self.reason = (self.reason + data)[-65536:]
                if not data:
                    fds.discard(self.stderr_fd)
            if on_channel and self.channel.fileno() in ready:
                try:
                    data = self.channel.recv(65536)
                    if data:
                        on_channel(self, data)
                except ConnectionError:  # it ended with bytes that nobody read
                    data = b""
                if not data:
                    fds.discard(self.channel.fileno())
            if self.pidfd in ready:
                return True
            if until is not None and until.encode() in self.serial:
                return False
            if left <= 0:
                return False

    def end(self):
        """After wait() said True: all there is to know."""
        _, status, usage = os.wait4(self.pid, 0)
        seconds = time.monotonic() - self.start
        self.serial += self._take(self.serial_fd, 1 << 20)
        self.reason += self._take(self.stderr_fd, 65536)
        kept = [hash(os.pread(fd, DISK_BYTES[number], 0)) for number, fd in self.kept.items()]
        self.ended = End(os.waitstatus_to_exitcode(status), self.reason.decode("utf-8", "replace").strip(),
                         self.serial.decode("ascii", "replace"), seconds, usage.ru_utime + usage.ru_stime,
                         usage.ru_maxrss * 1024, self.received, kept == self.digests[:len(kept)])
        return self.ended

    def save(self, seconds=10, into=None):
        """
        Has the machine saved, reading what it still writes to the channel: the state's descriptor, at its beginning, or
        RuntimeError with the monitor's words.
        """
        state = os.memfd_create("state", os.MFD_CLOEXEC) if into is None else os.dup(into)
        self.control.sendmsg([b"S"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [state]))])
        end = time.monotonic() + seconds
        fds = [self.control, self.channel]
        while self.control not in select.select(fds, [], [], max(0, end - time.monotonic()))[0]:
            if time.monotonic() > end:
                break
            if not self.channel.recv(65536):
                fds.remove(self.channel)
        self.control.settimeout(1)
        answer = self.control.recv(1)
        if answer != b"D":
            text = self.control.recv(4096) if answer else b""
            os.close(state)
            raise RuntimeError(f"saving: {answer!r} {text!r}")
        os.lseek(state, 0, os.SEEK_SET)
        return state
