"""A hostile root of the guest (--root): it takes its machine apart. What the host enforces must hold
against it, and the host must be clean afterwards; nothing inside the guest is asked to resist.
"""
import json
import textwrap

from harness import case, control_groups, tree_of

# The first lines of every program here. steal() takes the agent's own descriptor of the channel:
# the port can be opened only once, and the agent has it.
TOOLS = """
import ctypes, os, signal, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)

def call(name, *args):
    r = getattr(libc, name)(*args)
    if r < 0:
        raise OSError(ctypes.get_errno(), name)
    return r

def stop_agent():
    call('ptrace', 16, 1, 0, 0)  # PTRACE_ATTACH
    os.waitpid(1, 0x40000000)    # __WALL

def steal():
    at = next(int(fd) for fd in os.listdir('/proc/1/fd')
              if 'vport' in os.readlink('/proc/1/fd/' + fd))
    return call('syscall', 438, os.pidfd_open(1), at, 0)  # pidfd_getfd

def frame(kind, seq, payload=b''):
    return struct.pack('<IHHII', 0x316b6c61, kind, 0, len(payload), seq) + payload

def send(fd, data):
    while data:
        try:
            data = data[os.write(fd, data):]
        except BlockingIOError:
            time.sleep(0.01)

def disk(serial):
    return next('/dev/' + d for d in os.listdir('/sys/block')
                if d.startswith('vd') and open('/sys/block/%s/serial' % d).read().strip() == serial)
"""


def attack(t, body, verdicts, *options, **fields):
    """Runs it as root in a state directory of its own; afterwards nothing of the machine is left."""
    state = t.private_state()
    (state / "slots").mkdir(mode=0o700, exist_ok=True)
    (state / "slots" / "lock").touch(mode=0o600)
    before = tree_of(state)
    result = t.run(TOOLS + textwrap.dedent(body), "--root", *options, state=state)
    t.expect(result, verdicts, **fields)
    t.wait_gone(t.dir)
    t.equal(control_groups(state), [], "control groups")
    t.equal(tree_of(state), before, "the state directory")
    return result


def kinds(result):
    return {event["kind"] for event in result.events}


@case("with --root the program is root with every capability and sees all of its machine")
def is_root(t):
    result = attack(t, """
        import json
        status = {l.partition(':')[0]: l.partition(':')[2].strip() for l in open('/proc/self/status')}
        cap = (1 << int(open('/proc/sys/kernel/cap_last_cap').read()) + 1) - 1
        open('/etc/new', 'w').close()
        call('mount', b'none', b'/mnt', b'tmpfs', 0, None)
        call('sethostname', b'mine', 4)
        print(json.dumps({
            'ids': os.getresuid() + os.getresgid(),
            'caps': [int(status[k], 16) == cap for k in ('CapPrm', 'CapEff', 'CapBnd')],
            'free': status['NoNewPrivs'] + status['Seccomp'],
            'agent': os.readlink('/proc/1/exe'),
            'sysrq': os.access('/proc/sysrq-trigger', os.W_OK),
            'ports': [d for d in os.listdir('/dev') if d.startswith('vport')] != [],
            'disks': sorted(d for d in os.listdir('/dev') if d.startswith('vd')),
            'group': open('/proc/self/cgroup').read().strip(),
            'fds': sorted(int(f) for f in os.listdir('/proc/self/fd'))[:3],
            'cwd': os.getcwd(), 'in': os.listdir('/in'),
        }))
        open('/out/report', 'w').write('by root')
        """, "success", "--in", t.write("given.txt", "x"))
    t.equal(json.loads(result.out), {
        "ids": [0] * 6, "caps": [True] * 3, "free": "00", "agent": "/init", "sysrq": True,
        "ports": True, "disks": ["vda", "vdb", "vdc"], "group": "0::/job", "fds": [0, 1, 2],
        "cwd": "/work", "in": ["given.txt"]}, "what root sees")
    t.equal([o["name"] for o in result.outputs + result.dropped], ["report"], "outputs")


@case("root reboots: a sandbox failure, and the machine does not come back")
def reboots(t):
    attack(t, "call('reboot', 0x01234567)\n", "sandbox_failure", reason="run")


@case("root powers off or halts: it ends, by itself or at its limit")
def halts(t):
    attack(t, "call('reboot', 0x4321fedc)\n", ("sandbox_failure", "timeout"), "--wall", "5s")


@case("root panics its kernel: a sandbox failure, and the panic is in the events")
def panics(t):
    result = attack(t, "open('/proc/sysrq-trigger', 'w').write('c')\ntime.sleep(30)\n",
                    "sandbox_failure", reason="run")
    t.true("kernel_panic" in kinds(result), f"events: {result.events}")


@case("root crashes the agent: the kernel panics with it")
def crashes_agent(t):
    result = attack(t, """
        stop_agent()
        call('ptrace', 6, 1, ctypes.c_long(16 * 8), 0)  # PTRACE_POKEUSER: rip = 0
        call('ptrace', 17, 1, 0, 0)                     # PTRACE_DETACH
        time.sleep(30)
        """, "sandbox_failure", reason="run")
    t.true("kernel_panic" in kinds(result), f"events: {result.events}")


def breaks_protocol(t, body):
    result = attack(t, body + "time.sleep(30)\n", "sandbox_failure", reason="run")
    t.true("protocol_error" in kinds(result), f"events: {result.events}")


@case("root writes garbage to the channel: a protocol failure")
def garbage(t):
    breaks_protocol(t, "send(steal(), b'not a frame at all, I am afraid' * 8)\n")


@case("root speaks for the agent: the cap on stdout is the host's, to the byte")
def forged_stream(t):
    result = attack(t, """
        stop_agent()
        fd = steal()
        for seq in range(2, 50):
            send(fd, frame(18, seq, b'x' * 50000))
        time.sleep(30)
        """, "output_overflow", "--stdout", "100000", reason="stdout")
    t.equal(result.out, b"x" * 100000, "stdout")


@case("root speaks for the agent: a report in the wrong place ends the job")
def forged_order(t):
    breaks_protocol(t, "stop_agent()\nsend(steal(), frame(23, 2, bytes(8)))\n")


@case("root stops the agent: the wall limit strikes all the same")
def stops_agent(t):
    attack(t, "stop_agent()\ntime.sleep(60)\n", "timeout", "--wall", "3s", reason="wall")


@case("root stops the agent and spins: the CPU limit strikes all the same")
def spins(t):
    attack(t, "stop_agent()\nwhile True:\n    pass\n", "timeout", "--cpu", "2s", reason="cpu")


@case("root kills everything but pid 1: a sandbox failure")
def kills_all(t):
    attack(t, "os.kill(-1, signal.SIGKILL)\ntime.sleep(30)\n", "sandbox_failure")


@case("processes that left their cgroup do not outlive root's main process")
def escapes_cgroup(t):
    attack(t, """
        if os.fork() == 0:
            open('/sys/fs/cgroup/cgroup.procs', 'w').write(str(os.getpid()))
            os.setsid()
            time.sleep(600)
        time.sleep(0.5)
        print('done')
        """, "success", stdout=b"done\n")


@case("root lifts its limits in the guest: the machine's size still bounds its memory")
def lifts_memory(t):
    result = attack(t, """
        open('/sys/fs/cgroup/job/memory.max', 'w').write('max')
        kept = []
        for i in range(4096):
            kept.append(bytearray(os.urandom(1)) * (1 << 20))
        """, ("oom", "sandbox_failure", "user_exception"), "--memory", "64M")
    size = result.machine["memory_bytes"]
    t.true(size < 512 << 20, f"a machine of {size} bytes")


@case("root cannot write the root image or the inputs; scratch it may ruin, within its size")
def writes_disks(t):
    result = attack(t, """
        for serial in ('airlock-root', 'airlock-input'):
            try:
                os.pwrite(os.open(disk(serial), os.O_RDWR), b'ruined' * 100, 0)
                print('written')
            except OSError as error:
                print(type(error).__name__)
        fd = os.open(disk('airlock-scratch'), os.O_RDWR)
        end = os.lseek(fd, 0, os.SEEK_END)
        try:
            os.pwrite(fd, b'x' * 4096, end)
        except OSError as error:
            print(error.errno)
        # The device is larger than --disk; what the host gives to it is not.
        for at in (32 << 20, 1 << 30, end - 4096):
            try:
                os.pwrite(fd, b'x' * 4096, at)
                os.fsync(fd)
                print('written')
            except OSError as error:
                print(error.errno)
        for at in range(0, 32 << 20, 1 << 16):
            os.pwrite(fd, b'\\xff' * 4096, at)
        os.fsync(fd)
        print('ruined', flush=True)
        """, ("success", "sandbox_failure"), "--disk", "32M")
    t.equal(result.out.split(), [b"PermissionError"] * 2 + [b"28"] + [b"5"] * 3 + [b"ruined"],
            "writes to root, input, behind scratch, behind --disk")


@case("root takes the channel's driver away: a sandbox failure")
def unbinds(t):
    attack(t, """
        at = '/sys/bus/virtio/drivers/virtio_console/'
        port = next(d for d in os.listdir(at) if d.startswith('virtio'))
        open(at + 'unbind', 'w').write(port)
        time.sleep(60)
        """, ("sandbox_failure", "timeout"), "--wall", "20s")


@case("root loads and unloads modules: nothing but its own machine is affected")
def modules(t):
    attack(t, """
        junk = os.memfd_create('junk')
        os.write(junk, b'\\x7fELF' + bytes(4096))
        for name, args in (('syscall', (313, junk, b'', 0)),                # finit_module
                           ('syscall', (176, b'overlay', 0o4000 | 0o1000)),   # delete_module, forced
                           ('syscall', (176, b'virtio_console', 0o4000 | 0o1000))):
            try:
                call(name, *args)
            except OSError as error:
                print(error.errno, flush=True)
        """, ("success", "sandbox_failure", "timeout"), "--wall", "20s")


@case("root floods the console: the host keeps the end of it and nothing else happens")
def floods_console(t):
    attack(t, """
        def flood(path, head):
            fd = os.open(path, os.O_WRONLY | os.O_NOCTTY)
            end = time.monotonic() + 3
            while time.monotonic() < end:
                os.write(fd, head + b'\\x1b]0;owned\\x07Kernel pan1c ' * 30)
        try:
            flood('/dev/ttyS0', b'')
        except OSError:  # a serial port that can only transmit has no driver: by the kernel, then
            os.write(os.open('/proc/sys/kernel/printk_devkmsg', os.O_WRONLY), b'on\\n')
            flood('/dev/kmsg', b'<0>')
        print('done')
        """, "success", stdout=b"done\n")
