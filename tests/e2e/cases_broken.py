"""Broken hosts: QEMU missing or dying, images corrupt, disk full. Root only: each case changes
what airlock sees inside a mount namespace of its own; nothing of the host is touched.
"""
import os
import signal
import subprocess
import time

from harness import AIRLOCK, ENGINE, QEMU, STATE, Skip, case, tree_of

HELLO = "print('must not run')\n"


def fake(t, name, script):
    path = t.write(name, "#!/bin/sh\n" + script)
    path.chmod(0o755)
    return path


def fake_qemu(t, body):
    """Tells its version like the real one; anything else is the C statements. A program of its own,
    since the jail holds no shell to run a script with."""
    real = subprocess.run([QEMU, "--version"], capture_output=True, check=True).stdout.decode()
    source = t.write("qemu.c", """
        #include <fcntl.h>
        #include <stdio.h>
        #include <string.h>
        #include <unistd.h>
        int main(int argc, char **argv)
        {
            if (argc > 1 && strcmp(argv[1], "--version") == 0)
                return puts("%s") < 0;
            %s
        }""" % (real.splitlines()[0], body))
    path = t.path("qemu")
    subprocess.run(["cc", "-o", path, source], check=True)
    return path


def within(setup):
    """Runs what follows it after the shell commands of setup, in a private mount namespace."""
    return ["unshare", "-m", "sh", "-ec", setup + '\nexec "$@"', "sh"]


def instead_of(program, fake_path):
    return within(f"mount --bind '{fake_path}' '{program}'")


def without(t, program):
    """A /usr/bin of links to everything but the program."""
    hidden = t.path("bin")
    hidden.mkdir()
    name = os.path.basename(program)
    return within(f"mount --bind /usr/bin '{hidden}'\nmount -t tmpfs none /usr/bin\n"
                  f"for f in '{hidden}'/*; do b=${{f##*/}}\n"
                  f"[ \"$b\" = {name} ] || \"{hidden}/ln\" -s \"$f\" /usr/bin/\"$b\"; done")


def refused(t, result, verdicts, *words):
    t.expect(result, verdicts)
    t.true(b"must not run" not in result.raw, "the program ran")
    for word in words:
        t.true(word.lower() in result.text.lower(), f"the message lacks '{word}': {result.text.strip()}")


@case("a library that is missing or broken is named with its package, by what needs it alone", root=True)
def no_library(t):
    archive = t.path("in.tar")
    subprocess.run(["tar", "cf", archive, "--files-from", "/dev/null"], check=True)
    source = t.write("program.py", HELLO)
    run = [AIRLOCK, "run", "--state", STATE]
    for library, package, line in (
            ("libsquashfs.so.1", "libsquashfs1", [*run, "--in", source, source]),
            ("libarchive.so.13", "libarchive13", [*run, "--in-archive", archive, source]),
            ("libcurl.so.4", "libcurl4", [AIRLOCK, "jobs", "--url", "http://127.0.0.1:9"])):
        hide = within(f"mount --bind /dev/null /usr/lib/x86_64-linux-gnu/{library}")
        result = t.execute([*hide, *line])
        t.true(0 < result.code < 10, f"{library}: exit code {result.code}: {result.describe()}")
        for word in (library, f"install package {package}"):
            t.true(word in result.text, f"the message lacks '{word}': {result.describe()}")
    hide = within("mount --bind /dev/null /usr/lib/x86_64-linux-gnu/libsquashfs.so.1")
    t.expect(t.run("print(1)\n", wrap=hide), "success", stdout=b"1\n")


@case("QEMU missing: the job is rejected and the package is named", root=True)
def qemu_missing(t):
    before = tree_of(STATE, ["slots"])
    result = t.run(HELLO, "--engine", "tcg", wrap=without(t, QEMU))
    refused(t, result, "rejected", "qemu-system-x86")
    t.equal(tree_of(STATE, ["slots"]), before, "the state directory")


@case("QEMU dies at start: a sandbox failure with what it said", root=True)
def qemu_dies(t):
    script = fake_qemu(t, 'fputs("qemu: cannot set up guest memory\\n", stderr); return 1;')
    result = t.run(HELLO, "--engine", "tcg", wrap=instead_of(QEMU, script))
    refused(t, result, "sandbox_failure", "cannot set up guest memory")
    t.wait_gone(t.dir)


@case("QEMU that ends with 0 and no report is a sandbox failure, never a success", root=True)
def qemu_ends(t):
    result = t.run(HELLO, "--engine", "tcg", wrap=instead_of(QEMU, fake_qemu(t, "return 0;")))
    refused(t, result, "sandbox_failure")


@case("the monitor of engine kvm missing or another program: refused with the reason, and auto goes on", root=True)
def vmm_missing(t):
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        raise Skip("no /dev/kvm for us")
    monitor = AIRLOCK.parent / "airlock-vmm"
    missing = instead_of(monitor, "/dev/null")  # nobody may execute that
    result = t.run(HELLO, "--engine", "kvm", wrap=missing)
    refused(t, result, "rejected", "airlock-vmm", "leave out --engine kvm")
    t.equal(result.reason, "engine_unavailable", "reason")
    refused(t, t.run(HELLO, "--engine", "kvm", wrap=instead_of(monitor, "/bin/true")), "rejected", "does not work here")
    if ENGINE != "kvm":  # where QEMU is
        result = t.run("print('by the other engine')\n", wrap=missing)
        t.expect(result, "success")
        t.equal(result.machine["engine"], "tcg", "engine")


@case("a monitor that takes too much memory dies where no control group bounds it", root=True)
def greedy_monitor(t):
    mount = "/sys/fs/cgroup/memory"
    if not os.path.ismount(mount):
        raise Skip(f"no cgroup v1 memory controller is mounted at {mount}")
    t.expect(t.run(HELLO, "--engine", "tcg", "--memory", "32M"), ("success", "oom"))  # the saved state is there
    path = fake_qemu(t, """
        (void)!open("/ram", O_RDWR); /* as the real one opens its guest's memory */
        static char memory[1024 << 20]; /* and no more, should nobody stop it */
        for (size_t i = 0; i < sizeof(memory); i += 4096)
            ((volatile char *)memory)[i] = 1;
        for (;;) {
        }""")
    result = t.run(HELLO, "--engine", "tcg", "--memory", "32M",
                   wrap=within(f"umount {mount}\nmount --bind '{path}' '{QEMU}'"))
    refused(t, result, "sandbox_failure", "more memory than it may have")
    t.equal(result.reason, "boot", "reason")


@case("a guest that never answers ends at the boot deadline and leaves nothing", root=True)
def never_answers(t):
    # It takes the directory for its name, so that it would be found if it stayed.
    script = fake_qemu(t, f'strcpy(argv[0], "{t.dir}"); for (;;) sleep(1000);')
    result = t.run(HELLO, "--engine", "tcg", wrap=instead_of(QEMU, script))
    refused(t, result, "sandbox_failure", "boot")
    t.wait_gone(t.dir)


@case("a corrupt image is rejected before anything starts")
def corrupt_image(t):
    state = t.private_state()
    for path in (state / "objects").iterdir():
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.unlink()  # it is a hard link: the shared state stays as it is
        path.write_bytes(data)
        path.chmod(0o444)
    result = t.run(HELLO, state=state)
    refused(t, result, "rejected", "image build")
    t.true("digest" in result.text or "corrupt" in result.text, f"no reason: {result.text.strip()}")


@case("a cut image is rejected before anything starts")
def cut_image(t):
    state = t.private_state()
    largest = max((state / "objects").iterdir(), key=lambda p: p.stat().st_size)
    data = largest.read_bytes()[:1 << 20]
    largest.unlink()
    largest.write_bytes(data)
    result = t.run(HELLO, "--image", "javascript", js=True, state=state)
    other = t.run(HELLO, state=state)
    t.true("rejected" in (result.verdict, other.verdict), "neither image was found corrupt")


@case("a manifest that is not JSON is rejected")
def bad_manifest(t):
    state = t.private_state()
    manifest = state / "images" / "python.json"
    manifest.unlink()
    manifest.write_text('{"name": "python', encoding="ascii")
    refused(t, t.run(HELLO, state=state), "rejected", "python")


@case("the kernel package cannot be had: the package and the remedy are named", root=True)
def no_kernel(t):
    state = t.path("state")
    script = fake(t, "apt-get", "echo 'E: Unable to locate package' >&2\nexit 100\n")
    wrap = instead_of("/usr/bin/apt-get", script)
    result = t.run(HELLO, state=state, wrap=wrap)
    refused(t, result, ("rejected", "sandbox_failure"), "linux-image")
    t.true(not (state / "kernel.json").exists(), "a kernel manifest without a kernel")


@case("an image build that is killed leaves nothing half made and nothing running", root=True)
def killed_build(t):
    state = t.private_state()
    started = t.path("started")
    script = fake(t, "mmdebstrap", f"echo > '{started}'\nexec tail -f '{started}'\n")
    def kept():  # all but work in progress, the cache of downloads and the lock
        return [n for n in tree_of(state) if n[0].split("/")[0] not in ("tmp", "apt", "lock")]

    before = kept()
    line = [*instead_of("/usr/bin/mmdebstrap", script), str(t.command(program=None)[0]), "image", "build",
            "extra", "--from", "python", "--packages", "python3-yaml", "--state", state]
    child = t.start(line)
    end = time.monotonic() + 120
    while not started.exists() and child.poll() is None and time.monotonic() < end:
        time.sleep(0.1)
    if child.poll() is not None and b"Debian's archive" in (said := child.stderr.read()):
        raise Skip(f"the archive cannot be reached from here: {said[-200:]!r}")
    t.true(started.exists(), f"mmdebstrap was not started: {child.poll()}")
    child.send_signal(signal.SIGKILL)
    child.wait()
    t.wait_gone(t.dir)
    t.equal(kept(), before, "the state")
    line = [t.command(program=None)[0], "image", "list", "--state", state]
    t.true(b"extra" not in t.execute(line).raw, "the half-made image is listed")
    t.expect(t.run("print(1)\n", state=state), "success")


@case("a disk without room for a job is told as such before anything is staged", root=True)
def disk_full(t):
    place = t.path("small")
    place.mkdir()
    kept = [p for p in STATE.rglob("*") if p.is_file() and "templates" not in p.parts]
    size = sum(p.stat().st_size for p in kept) + (6 << 20)
    wrap = within(f"mount -t tmpfs -o size={size} none '{place}'\nmkdir '{place}/state'\n"
                  f"tar -C '{STATE}' --exclude=./templates -c . | tar -C '{place}/state' -x")
    data = os.urandom(24 << 20)
    result = t.run(HELLO, state=place / "state", files={"big": data}, wrap=wrap)
    refused(t, result, "capacity_rejected", "disk")
    t.equal(result.reason, "disk", "reason")
