#!/usr/bin/env python3
"""Boots the guest agent under QEMU and speaks the channel protocol with it, without the supervisor.

usage: guest_boot.py --agent airlock-init --kernel VMLINUZ --modules DIR --root-tar TAR [CASE...]

Prints TAP. Everything it makes lies in one temporary directory. DIR is lib/modules/VERSION of the
kernel; TAR a root filesystem with python3.
"""
import argparse, os, select, shutil, signal, socket, struct, subprocess, sys, tarfile, tempfile, time

MAGIC = 0x316b6c61
JOB, STDIN, STDIN_EOF, STOP = 1, 2, 3, 4
READY, STARTED, STDOUT, STDERR, CREDIT, EXIT, OUTPUT, OUTPUT_END, FAILED = range(16, 25)
MODULES = ['virtio_ring', 'virtio', 'virtio_mmio', 'virtio_blk', 'virtio_console', 'virtio-rng',
           'squashfs', 'overlay']
MIB = 1 << 20


def initramfs(tmp, agent, modules):
    top = os.path.join(tmp, 'initramfs')
    os.makedirs(top + '/modules')
    shutil.copy(agent, top + '/init')
    found = {f: os.path.join(d, f) for d, _, files in os.walk(modules) for f in files}
    for name in MODULES:
        shutil.copy(found[name + '.ko'], top + '/modules/')
    with open(top + '/modules/order', 'w') as f:
        f.write(''.join(f'{name}.ko\n' for name in MODULES))
    names = subprocess.run(['find', '.', '-mindepth', '1'], cwd=top, capture_output=True, check=True)
    out = os.path.join(tmp, 'initramfs.cpio')
    with open(out, 'wb') as f:
        subprocess.run(['cpio', '--quiet', '-o', '-H', 'newc', '-R', '0:0'], cwd=top, stdout=f,
                       input=names.stdout, check=True)
    return out


def root_image(tmp, root_tar):
    out = os.path.join(tmp, 'root.sqfs')
    made = os.path.join(tmp, 'root.tar')
    with tarfile.open(root_tar) as src, tarfile.open(made, 'w') as dst:
        have = set()
        for m in src:
            if m.name.startswith('./dev/'):
                continue
            have.add(m.name)
            dst.addfile(m, src.extractfile(m) if m.isreg() else None)
        for d in ['in', 'out', 'work', 'tmp', 'proc', 'dev', 'var', 'var/tmp', 'etc']:
            if './' + d not in have:
                m = tarfile.TarInfo('./' + d)
                m.type, m.mode = tarfile.DIRTYPE, 0o755
                dst.addfile(m)
    subprocess.run(['tar2sqfs', '-q', '-f', '-c', 'lz4', out], stdin=open(made, 'rb'), check=True)
    os.unlink(made)
    return out


class Machine:
    def __init__(self, setup, program, stdin=None, argv=None, env=None, inputs=None, disk=64 * MIB, **limits):
        self.tmp = tempfile.mkdtemp(dir=setup.tmp)
        self.setup, self.stdin = setup, stdin
        tree = self.tmp + '/tree'
        os.makedirs(tree + '/in'), os.makedirs(tree + '/prog')
        open(tree + '/prog/main.py', 'w').write(program)
        for name, data in (inputs or {}).items():
            open(f'{tree}/in/{name}', 'wb').write(data)
        subprocess.run(['gensquashfs', '-q', '-D', tree, '--all-root', '-c', 'lz4', self.tmp + '/input.sqfs'], check=True,
                       stdout=subprocess.DEVNULL)
        os.truncate(self.tmp + '/input.sqfs', 4 << 30)
        subprocess.run(['mke2fs', '-q', '-t', 'ext4', '-O', '^has_journal', '-m', '0', '-E', 'lazy_itable_init=1',
                        self.tmp + '/scratch.img', f'{disk // 1024}k'], check=True)
        os.truncate(self.tmp + '/scratch.img', 16 << 30)
        self.limits = dict(memory=256 * MIB, pids=64, stdout=MIB, stderr=MIB, out_bytes=16 * MIB, out_files=64,
                           out_depth=16, **{})
        self.limits.update(limits)
        self.argv = argv or ['python3', 'main.py']
        self.env = env or ['PATH=/usr/bin:/bin', 'HOME=/work', 'LANG=C.UTF-8', 'OUT=/out']
        self.boot()

    def boot(self):
        s = self.setup
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.tmp + '/ch')
        listener.listen(1)
        args = ['qemu-system-x86_64', '-M',
                'microvm,accel=tcg,rtc=on,pic=on,pit=on,isa-serial=on,acpi=on,x-option-roms=off', '-cpu',
                'max,-avx,-avx2', '-smp', '1', '-m', f'{(self.limits["memory"] + 96 * MIB) // MIB}M', '-nodefaults',
                '-no-user-config', '-nographic', '-no-reboot', '-kernel', s.kernel, '-initrd', s.initrd, '-append',
                f'console=ttyS0 quiet loglevel=3 panic=-1 reboot=t tsc_early_khz={s.khz}', '-serial',
                f'file:{self.tmp}/console', '-global', 'virtio-mmio.force-legacy=false']
        for serial, path, ro in [('root', s.root, 'on'), ('input', self.tmp + '/input.sqfs', 'on'),
                                 ('scratch', self.tmp + '/scratch.img', 'off')]:
            args += ['-drive', f'if=none,id={serial},file={path},format=raw,readonly={ro}', '-device',
                     f'virtio-blk-device,drive={serial},serial=airlock-{serial}']
        args += ['-device', 'virtio-rng-device', '-device', 'virtio-serial-device,max_ports=2', '-chardev',
                 f'socket,id=c,path={self.tmp}/ch', '-device', 'virtserialport,chardev=c,name=airlock']
        self.t0 = time.monotonic()
        self.qemu = subprocess.Popen(args, stdin=subprocess.DEVNULL)
        listener.settimeout(10)
        self.ch = listener.accept()[0]
        listener.close()
        self.seq_out = self.seq_in = 0
        self.buf = bytearray()
        self.times, self.out, self.err, self.outar = {}, bytearray(), bytearray(), bytearray()
        self.exit = self.end = self.failed = None
        self.sent = self.credit = 0

    def send(self, kind, data=b''):
        self.ch.setblocking(True)
        self.ch.sendall(struct.pack('<IHHII', MAGIC, kind, 0, len(data), self.seq_out) + data)
        self.seq_out += 1

    def send_job(self):
        def s(x):
            x = os.fsencode(x)
            return struct.pack('<I', len(x)) + x
        n = self.limits
        self.send(JOB, struct.pack('<I', 1) + os.urandom(64) + struct.pack('<Q', time.time_ns()) + b'\xab' * 16 +
                  struct.pack('<6QIB', n['memory'], n['pids'], n['stdout'], n['stderr'], n['out_bytes'],
                              n['out_files'], n['out_depth'], self.stdin is not None) + s('main.py') +
                  struct.pack('<I', len(self.argv)) + b''.join(map(s, self.argv)) +
                  struct.pack('<I', len(self.env)) + b''.join(map(s, self.env)))

    def frames(self, timeout):
        if not select.select([self.ch], [], [], timeout)[0]:
            raise TimeoutError(f'nothing for {timeout:.1f} s: sent {self.sent}, credit {self.credit}, stdout '
                               f'{len(self.out)}, frames {sorted(self.times)}, console '
                               + open(self.tmp + '/console', errors='replace').read()[-2000:])
        data = self.ch.recv(1 << 18)
        if not data:
            raise EOFError('channel closed; console: ' + open(self.tmp + '/console', errors='replace').read()[-2000:])
        self.buf += data
        while len(self.buf) >= 16:
            magic, kind, zero, length, seq = struct.unpack_from('<IHHII', self.buf)
            assert (magic, zero, seq) == (MAGIC, 0, self.seq_in), (magic, zero, seq)
            if len(self.buf) < 16 + length:
                return
            payload = bytes(self.buf[16:16 + length])
            del self.buf[:16 + length]
            self.seq_in += 1
            yield kind, payload

    def on_frame(self, kind, data):
        self.times.setdefault(kind, time.monotonic() - self.t0)
        if kind == READY:
            self.boot_ns = struct.unpack('<IQQ', data)[2]
            self.send_job()
            self.times[JOB] = time.monotonic() - self.t0
        elif kind == STDOUT:
            self.out += data
        elif kind == STDERR:
            self.err += data
        elif kind == CREDIT:
            self.credit += struct.unpack('<I', data)[0]
        elif kind == EXIT:
            self.exit = dict(zip(['signaled', 'code', 'peak', 'cpu', 'pids_peak', 'refused', 'oom_kills',
                                  'oom_main', 'stdout', 'stderr', 'scratch'], struct.unpack('<BIQQIIIBQQQ', data)))
        elif kind == OUTPUT:
            self.outar += data
        elif kind == OUTPUT_END:
            status, length = struct.unpack_from('<II', data)
            self.end = (status, data[8:8 + length].decode())
        elif kind == FAILED:
            n, = struct.unpack_from('<I', data)
            self.failed = data[4:4 + n].decode(), data[12 + n:].decode()

    def feed(self):
        if self.stdin is None or STARTED not in self.times or self.exit:
            return
        while self.sent < len(self.stdin) and self.credit > 0:
            n = min(self.credit, 65536, len(self.stdin) - self.sent)
            self.send(STDIN, self.stdin[self.sent:self.sent + n])
            self.sent += n
            self.credit -= n
            if self.sent == len(self.stdin):
                self.send(STDIN_EOF)

    def run(self, timeout=60, hook=None):
        deadline = time.monotonic() + timeout
        try:
            while self.end is None and self.failed is None:
                for kind, data in self.frames(deadline - time.monotonic()):
                    self.on_frame(kind, data)
                    if hook:
                        hook(self, kind)
                self.feed()
        finally:
            self.qemu.kill()
            self.qemu.wait()
            self.ch.close()
        return self

    def files(self):
        at, found = 0, []
        while True:
            magic, kind, mode, length, size = struct.unpack_from('<IB3xIIQ', self.outar, at)
            assert magic == 0x72746f61
            at += 24
            if kind == 4:
                assert at == len(self.outar)
                return found
            found.append((kind, self.outar[at:at + length].decode(), bytes(self.outar[at + length:at + length + size])))
            at += length + size


CASES = []


def case(f):
    CASES.append(f)
    return f


def code(m, want):
    assert m.failed is None, m.failed
    assert (m.exit['signaled'], m.exit['code']) == (0, want), (m.exit, m.err[-2000:].decode())


@case
def hello(s):
    m = Machine(s, 'print("hi")').run()
    code(m, 0)
    assert m.out == b'hi\n' and m.end == (0, '') and m.files() == []
    t = m.times
    print(f'# kernel start -> READY {m.boot_ns / 1e9:.2f} s guest, {t[READY]:.2f} s wall; JOB -> STARTED '
          f'{(t[STARTED] - t[JOB]) * 1e3:.0f} ms; STARTED -> EXIT {(t[EXIT] - t[STARTED]) * 1e3:.0f} ms; '
          f'EXIT -> OUTPUT_END {(t[OUTPUT_END] - t[EXIT]) * 1e3:.0f} ms; {m.exit}')


@case
def exit_code_and_outputs(s):
    m = Machine(s, '''
import os, sys
assert open("/in/a.txt").read() == "input"
os.makedirs("/out/d"); open("/out/d/x", "w").write("X" * 200000); open("/out/b", "w").write("B")
os.symlink("/etc/passwd", "/out/link"); os.mkfifo("/out/fifo"); open("/out/empty", "w")
sys.stderr.write("err\\n"); os._exit(137)
''', inputs={'a.txt': b'input'}).run()
    code(m, 137)
    assert m.err == b'err\n'
    assert m.files() == [(1, 'b', b'B'), (2, 'd', b''), (1, 'd/x', b'X' * 200000), (1, 'empty', b''), (3, 'fifo', b''),
                         (3, 'link', b'')], [f[:2] for f in m.files()]


@case
def fatal_signal(s):
    m = Machine(s, 'import os, signal; os.kill(os.getpid(), signal.SIGSEGV)').run()
    assert (m.exit['signaled'], m.exit['code']) == (1, 11), m.exit


@case
def self_sigkill_is_not_oom(s):
    m = Machine(s, 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)').run()
    assert (m.exit['signaled'], m.exit['code'], m.exit['oom_main']) == (1, 9, 0), m.exit


@case
def stdin_echo_10_mib(s):
    data = os.urandom(10 * MIB)
    m = Machine(s, 'import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer, 65536)', stdin=data,
                stdout=16 * MIB).run()
    code(m, 0)
    assert m.out == data
    print(f'# 20 MiB through the channel in {m.times[EXIT] - m.times[STARTED]:.2f} s')


@case
def unread_stdin(s):
    m = Machine(s, 'import os, time; os.close(0); time.sleep(0.5); print("done")', stdin=b'x' * (10 * MIB)).run()
    code(m, 0)
    m = Machine(s, 'import time; time.sleep(0.5); print("done")', stdin=b'x' * (10 * MIB)).run()
    code(m, 0)
    assert m.out == b'done\n'


@case
def no_stdin_is_end_of_file(s):
    m = Machine(s, 'import sys; print(repr(sys.stdin.read()))').run()
    code(m, 0)
    assert m.out == b"''\n"


@case
def all_output_arrives_though_nobody_waits(s):
    m = Machine(s, '''
import os, fcntl
fcntl.fcntl(1, fcntl.F_SETFL, os.O_NONBLOCK)
n, data = 0, b"z" * (3 * 1048576)
while n < len(data): n += os.write(1, data[n:n + 2049])
os._exit(0)''', stdout=3 * MIB).run()
    code(m, 0)
    assert len(m.out) == 3 * MIB


@case
def output_over_its_cap_shows_one_byte_more(s):
    m = Machine(s, 'import os\nos.write(1, b"x" * 2000000); os.write(2, b"y" * 1000)', stdout=100000, stderr=1000)

    def stop(m, kind):
        if len(m.out) > 100000 and not m.stopped:
            m.stopped = True
            m.send(STOP)
    m.stopped = False
    m.run(hook=stop)
    assert len(m.out) == 100001 and len(m.err) <= 1000


@case
def oom_of_the_main_process(s):
    m = Machine(s, 'x = []\nwhile True: x.append(b"m" * 1000000)', memory=64 * MIB).run()
    assert (m.exit['signaled'], m.exit['code'], m.exit['oom_main']) == (1, 9, 1), m.exit
    assert m.exit['oom_kills'] == 1 and m.exit['peak'] <= 64 * MIB, m.exit


@case
def oom_of_a_child_is_not_oom_of_main(s):
    m = Machine(s, '''
import os, signal
pid = os.fork()
if pid == 0:
    x = []
    while True: x.append(b"m" * 1000000)
assert os.waitpid(pid, 0)[1] == 9
os.kill(os.getpid(), 9)
''', memory=64 * MIB).run()
    assert (m.exit['signaled'], m.exit['code'], m.exit['oom_main']) == (1, 9, 0), m.exit
    assert m.exit['oom_kills'] == 1, m.exit


@case
def fork_bomb(s):
    m = Machine(s, '''
import os, time
n = 0
try:
    while True:
        if os.fork() == 0:
            try:
                while True: os.fork()
            except OSError: time.sleep(100)
except OSError as e: print(e.errno)
''', pids=32).run()
    code(m, 0)
    assert m.out == b'11\n' and m.exit['refused'] > 0, (m.out, m.exit)


@case
def a_daemon_holding_stdout_does_not_delay_the_end(s):
    m = Machine(s, '''
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: time.sleep(1000)
    os._exit(0)
print("main")
''').run(20)
    code(m, 0)
    assert m.out == b'main\n'


@case
def closing_stdio_does_not_end_the_job(s):
    m = Machine(s, 'import os, time; os.close(0); os.close(1); os.close(2); time.sleep(0.5); os._exit(7)').run(20)
    code(m, 7)


@case
def stop_kills_the_program(s):
    m = Machine(s, 'import time; print("up", flush=True); time.sleep(1000)')
    m.run(20, hook=lambda m, kind: m.send(STOP) if kind == STDOUT else None)
    assert (m.exit['signaled'], m.exit['code'], m.exit['oom_main']) == (1, 9, 0), m.exit


@case
def posture(s):
    m = Machine(s, r'''
import os, socket, resource, sys, signal
def fails(f, *a):
    try: f(*a)
    except OSError as e: return e.strerror
    raise SystemExit(f"{f} {a} worked")
st = dict(l.split(":\t", 1) for l in open("/proc/self/status").read().splitlines())
assert os.getresuid() == os.getresgid() == (1000,) * 3 and os.getgroups() == [], os.getgroups()
for k in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "SigBlk", "SigCgt"]:
    assert k == "SigCgt" or int(st[k], 16) == 0, (k, st[k])
assert st["NoNewPrivs"] == "1" and int(st["SigIgn"], 16) & ~(1 << 12 | 1 << 24) == 0, st["SigIgn"]
assert os.getpid() == 2 and os.getppid() == 1 and os.getsid(0) == 2, (os.getpid(), os.getsid(0))
fds = {f: os.readlink(f"/proc/self/fd/{f}") for f in os.listdir("/proc/self/fd") if int(f) < 3 or os.path.exists(f"/proc/self/fd/{f}")}
assert set(fds) == {"0", "1", "2"}, fds
assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (1024, 4096)
assert open("/proc/self/oom_score_adj").read() == "500\n"
print("oom lower:", fails(lambda: open("/proc/self/oom_score_adj", "w").write("0")))
um = os.umask(0); assert um == 0o22, um
assert os.uname().nodename == "airlock" and open("/etc/machine-id").read() == "ab" * 16 + "\n"
assert sorted(os.listdir("/dev")) == ["fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"]
assert sorted(p for p in os.listdir("/proc") if p.isdigit()) == ["2"], os.listdir("/proc")
assert os.getcwd() == "/work" and os.listdir("/work") == ["main.py"] and os.stat("main.py").st_uid == 1000
for p in ["/in/new", "/new", "/etc/new", "/dev/new", "/run/new", "/var/lock/new", "/usr/new", "/proc/new"]:
    print(p, fails(lambda: open(p, "w")))
print("in rw", fails(lambda: open("/in/a.txt", "w")))
for p in ["/work/new", "/out/new", "/tmp/new", "/var/tmp/new", "/dev/shm/new"]:
    open(p, "w").write("x"); assert os.stat(p).st_mode & 0o777 == 0o666
    os.unlink(p)
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for what, r in [("remount", libc.mount(None, b"/in", None, 32 | 4096, None)), ("mount", libc.mount(b"x", b"/tmp", b"tmpfs", 0, None)),
        ("userns", libc.unshare(0x10000000)), ("chroot", libc.chroot(b"/tmp")), ("mknod", libc.mknod(b"/tmp/n", 0o20666, 0x103)),
        ("kill 1", libc.kill(1, 9)), ("setns", libc.ptrace(16, 1, 0, 0)), ("hostname", libc.sethostname(b"x", 1))]:
    assert r != 0, what
    print(what, os.strerror(ctypes.get_errno()))
for p in ["/proc/sys/kernel/hostname", "/proc/sys/vm/overcommit_memory", "/proc/1/mem"]:
    print(p, fails(lambda: open(p, "w")))
print("masked", [open(p).read(10) for p in ["/proc/keys", "/proc/kallsyms", "/proc/sysrq-trigger", "/proc/timer_list"] if os.path.exists(p) and os.access(p, os.R_OK)])
assert not os.path.exists("/sys/kernel") and not os.path.exists("/cgroup") and not os.path.exists("/modules")
print([l.split()[4:6] for l in open("/proc/self/mountinfo")])
print("net", socket.if_nameindex(), open("/proc/net/dev").read().splitlines()[2:])
s = socket.socket(); s.settimeout(1)
print("connect", fails(s.connect, ("1.1.1.1", 53)), fails(socket.socket().connect, ("127.0.0.1", 1)))
print("tty", fails(lambda: open("/dev/tty")))
keep = []
try:
    while True: keep.append(os.open("/dev/null", 0))
except OSError as e: print("fds", len(keep), e.strerror)
for f in keep: os.close(f)
import multiprocessing as mp
if __name__ == "__main__":
    with mp.Pool(2) as p: print(p.map(abs, [-1, -2]))
    import time; assert abs(time.time() - float(os.environ["NOW"])) < 60
''', inputs={'a.txt': b'x'}, env=['PATH=/usr/bin', 'HOME=/work', f'NOW={time.time()}']).run()
    print(''.join(f'# {line}\n' for line in m.out.decode().splitlines()), end='')
    code(m, 0)


@case
def a_deep_tree_is_refused_by_depth(s):
    m = Machine(s, '''
import os
os.chdir("/out")
for i in range(2000):
    os.mkdir("d" * 20); os.chdir("d" * 20)
''', disk=256 * MIB, out_files=5000).run()
    code(m, 0)
    assert m.end[0] == 3, m.end


@case
def a_deep_tree_within_the_cap_is_sent(s):
    m = Machine(s, '''
import os
os.chdir("/out")
for i in range(1900):
    os.mkdir("d"); os.chdir("d")
open("leaf", "w").write("L")
''', disk=256 * MIB, out_files=5000, out_depth=3000).run()
    code(m, 0)
    assert m.end == (0, ''), m.end
    assert len(m.files()) == 1901 and m.files()[-1][2] == b'L'


@case
def a_sparse_file_is_refused_by_its_size(s):
    m = Machine(s, 'import os; open("/out/a", "w").write("1"); f = open("/out/big", "w"); os.truncate("/out/big", 1 << 40)').run(20)
    code(m, 0)
    assert m.end == (1, 'big'), m.end


@case
def too_many_files_are_refused(s):
    m = Machine(s, 'for i in range(65): open(f"/out/{i}", "w")').run(20)
    code(m, 0)
    assert m.end[0] == 2, m.end


@case
def a_full_disk_is_the_programs_problem(s):
    m = Machine(s, '''
try:
    with open("/work/big", "wb") as f:
        while True: f.write(b"x" * 1000000)
except OSError as e: print(e.errno)
''', disk=16 * MIB).run()
    code(m, 0)
    assert m.out == b'28\n', m.out


@case
def what_cannot_be_executed_fails_by_name(s):
    m = Machine(s, '', argv=['no-such-program']).run(20)
    assert m.failed == ('exec', "execute 'no-such-program': No such file or directory"), m.failed


@case
def the_machine_ends_with_the_channel(s):
    m = Machine(s, 'import time; time.sleep(1000)')
    try:
        while STARTED not in m.times:
            for kind, data in m.frames(20):
                m.on_frame(kind, data)
        m.ch.close()
        m.qemu.wait(10)
    finally:
        m.qemu.kill()
        m.qemu.wait()


def tsc_khz():
    for line in open('/proc/cpuinfo'):
        if line.startswith('cpu MHz'):
            return int(float(line.split(':')[1]) * 1000)
    return 2000000


def main():
    p = argparse.ArgumentParser()
    for name in ['agent', 'kernel', 'modules', 'root-tar']:
        p.add_argument('--' + name, required=True)
    p.add_argument('--khz', type=int, default=tsc_khz())
    p.add_argument('cases', nargs='*')
    s = p.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    s.tmp = tempfile.mkdtemp(prefix='airlock-guest-')
    cases = [c for c in CASES if not s.cases or c.__name__ in s.cases]
    print(f'1..{len(cases)}', flush=True)
    failed = 0
    try:
        s.initrd = initramfs(s.tmp, s.agent, s.modules)
        s.root = root_image(s.tmp, s.root_tar)
        for n, c in enumerate(cases, 1):
            try:
                c(s)
                print(f'ok {n} - {c.__name__}', flush=True)
            except Exception as e:
                failed += 1
                print(f'not ok {n} - {c.__name__}\n# {type(e).__name__}: {e}', flush=True)
    finally:
        shutil.rmtree(s.tmp)
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
