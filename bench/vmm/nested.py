#!/usr/bin/python3
"""The monitor against QEMU with accel=kvm, both in the nested host, where unmodified guests run. Tables on stdout.

bench/vmm/nested.py [--rounds N] [--seconds N] [--only boots|clones|exits|memory] [--old AIRLOCK] [--json FILE]

In one nested host (tools/nested-host), in turn: a Python hello by clone with this build, and with the
last build whose engine kvm was QEMU; then Debian's kernel to its agent's first byte, by airlock-vmm
and by QEMU's microvm. The old build is made of its commit in build/nested-bench unless --old names it.
Everything is 10 to 50 times slower there: only ratios of one run count. With --only: the exits of such
a clone by reason, of both builds, and what a monitor's control group is charged (bench/vmm/exits.py).

The state is $AIRLOCK_TEST_STATE or build/state, with kernel and images.
"""
import argparse
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
OLD_COMMIT = "7a652b6"  # the last one whose engine kvm is QEMU
OLD = ROOT / "build" / "nested-bench" / "old" / "airlock"
OLD_INSIDE = "build/nested-bench/old/airlock"
FIGURES = "# figures: "
MEMORY_MIB = 384
PATIENCE = 300
ATTEMPTS = 4  # to save a machine: on a busy host its time limit may be too short for it
QEMU_MACHINE = ("microvm,acpi=on,rtc=on,pit=on,pic=on,isa-serial=on,x-option-roms=off,usb=off,graphics=off,"
                "mem-merge=off,dump-guest-core=off")  # as that engine had it


def say(text):
    print(f"   bench: {text}", file=sys.stderr, flush=True)


# --- in the nested host ---

class Inside:
    def __init__(self, rounds):
        self.rounds = rounds
        self.number = 0
        self.program = pathlib.Path("/tmp/hello.py")
        self.program.write_text("print('hello')\n", encoding="ascii")
        self.state = pathlib.Path(os.environ["AIRLOCK_TEST_STATE"])
        self.old_state = pathlib.Path("/state-old")
        shutil.copytree(self.state, self.old_state, copy_function=os.link)
        self.old_state.chmod(0o700)
        self.builds = {"airlock-vmm": ("/airlock/build/airlock", self.state),
                       "QEMU": (f"/airlock/{OLD_INSIDE}", self.old_state)}

    def line(self, good, name, detail=""):
        self.number += 1
        print(f"{'ok' if good else 'not ok'} {self.number} - {name}", flush=True)
        if detail:
            print(f"# {detail}", flush=True)

    def hello(self, build):
        """Milliseconds of a whole `airlock run`, and the result."""
        airlock, state = self.builds[build]
        begin = time.perf_counter()
        done = subprocess.run([airlock, "run", "--json", "--state", state, "--engine", "kvm", "--wall", "60s", "--cpu", "60s",
                               self.program], check=False, timeout=PATIENCE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wall = (time.perf_counter() - begin) * 1e3
        result = json.loads(done.stdout)
        if result["verdict"] != "success" or result["stdout"]["data"] != "hello\n":
            raise RuntimeError(f"{build}: {result['verdict']}, {result['message']}")
        return wall, result

    def templates(self):
        for build in self.builds:
            for attempt in range(1, ATTEMPTS + 1):  # the first job boots and saves the machine
                try:
                    print(f"# {build}: with its template {self.hello(build)[0]:.0f} ms", flush=True)
                    break
                except RuntimeError as error:
                    if attempt == ATTEMPTS:
                        raise
                    print(f"# {error}", flush=True)

    def clones(self):
        walls = {build: [] for build in self.builds}
        phases = {build: [] for build in self.builds}
        self.templates()
        for _ in range(self.rounds):
            for build in self.builds:
                wall, result = self.hello(build)
                walls[build].append(wall)
                phases[build].append(result["phases"])
        for build, rounds in phases.items():
            medians = {name: statistics.median([(r[name] or 0) / 1e6 for r in rounds]) for name in rounds[0]}
            print(f"# {build}: medians of its phases, ms: " + ", ".join(
                f"{name} {at:.0f}" for name, at in sorted(medians.items(), key=lambda item: item[1])), flush=True)
        self.line(True, f"{self.rounds} clones of each")
        return walls

    def objects(self):
        kernel = json.loads((self.state / "kernel.json").read_text(encoding="utf-8"))
        return [self.state / "objects" / kernel[name]["sha256"] for name in ("vmlinuz", "initramfs")]

    def boot_vmm(self):
        sys.path.insert(0, "/airlock/tests/guests")
        from vmm_run import MIB, Machine
        kernel, initramfs = self.objects()
        begin = time.perf_counter()
        with Machine("quiet loglevel=3 panic=-1 reboot=t", memory=MEMORY_MIB * MIB, monitor="/airlock/build/airlock-vmm",
                     kernel=kernel, initramfs=initramfs) as machine:
            machine.channel.settimeout(PATIENCE)
            data = machine.channel.recv(1)
            if not data:
                machine.wait(10)
                raise RuntimeError(f"airlock-vmm ended: {machine.end()}")
            return (time.perf_counter() - begin) * 1e3

    def boot_qemu(self):
        kernel, initramfs = self.objects()
        ours, other = socket.socketpair()
        disks = []
        with tempfile.TemporaryDirectory() as directory:
            for name, serial in (("root", "airlock-root"), ("input", "airlock-input"), ("scratch", "airlock-scratch")):
                path = pathlib.Path(directory, name)
                path.write_bytes(bytes(1 << 20))
                only = ",read-only=on" if name != "scratch" else ""
                disks += ["-blockdev", f"driver=file,node-name={name},filename={path}{only}",
                          "-device", f"virtio-blk-device,drive={name},serial={serial}"]
            line = ["/usr/bin/qemu-system-x86_64", "-nodefaults", "-no-user-config", "-nographic", "-no-reboot",
                    "-machine", QEMU_MACHINE, "-accel", "kvm", "-cpu", "host,-vmx,-svm,pmu=off", "-smp", "1",
                    "-m", f"{MEMORY_MIB}M", "-kernel", kernel, "-initrd", initramfs,
                    "-append", "console=ttyS0 quiet loglevel=3 panic=-1 reboot=t edd=off",
                    "-global", "virtio-mmio.force-legacy=false", *disks, "-device", "virtio-rng-device",
                    "-device", "virtio-serial-device,max_ports=2", "-chardev", f"socket,id=channel,fd={other.fileno()}",
                    "-device", "virtserialport,chardev=channel,name=airlock", "-chardev", "null,id=console",
                    "-serial", "chardev:console"]
            begin = time.perf_counter()
            with subprocess.Popen(line, pass_fds=[other.fileno()], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL) as child:
                other.close()
                ours.settimeout(PATIENCE)
                try:
                    if not ours.recv(1):
                        raise RuntimeError("QEMU ended")
                    return (time.perf_counter() - begin) * 1e3
                finally:
                    child.kill()
                    ours.close()

    def boots(self):
        times = {"airlock-vmm": [], "QEMU": []}
        for _ in range(max(2, self.rounds // 3)):
            times["airlock-vmm"].append(self.boot_vmm())
            times["QEMU"].append(self.boot_qemu())
        self.line(True, f"{len(times['QEMU'])} boots of each")
        return times


    def look(self, lines):
        for line in lines:
            print(f"# {line}", flush=True)
        self.line(True, "looked at")

    def exits(self):
        import exits
        self.templates()
        self.look(exits.exits(self))

    def memory(self):
        import exits
        self.look(exits.memory(self))


def inside(rounds, names):
    bench = Inside(rounds)
    figures = {}
    for name in names:
        try:
            found = getattr(bench, name)()
            if found:
                figures[name] = found
        except (RuntimeError, OSError, subprocess.SubprocessError, ValueError) as error:
            bench.line(False, name, f"{error}")
        uptime = pathlib.Path("/proc/uptime").read_text(encoding="ascii").split()[0]
        print(f"# {name} ended {uptime} s after the start", flush=True)
        print(FIGURES + json.dumps(figures), flush=True)
    print(f"1..{bench.number}", flush=True)


# --- outside ---

def build_old():
    tree = OLD.parent.parent / "tree"
    if not OLD.exists():
        say(f"building {OLD_COMMIT}, whose engine kvm is QEMU")
        shutil.rmtree(tree.parent, ignore_errors=True)
        tree.mkdir(parents=True)
        with subprocess.Popen(["git", "-C", ROOT, "archive", OLD_COMMIT], stdout=subprocess.PIPE) as archive:
            subprocess.run(["tar", "-x", "-C", tree], stdin=archive.stdout, check=True)
        subprocess.run(["meson", "setup", OLD.parent, tree], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", OLD.parent, "airlock"], check=True, stdout=subprocess.DEVNULL)
    return OLD


def load_nested():
    path = ROOT / "tools" / "nested-host"
    loader = importlib.machinery.SourceFileLoader("nested_host", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("nested_host", loader))
    loader.exec_module(module)
    module.PACKAGES = module.PACKAGES + [p for p in ("qemu-system-x86", "qemu-system-data", "seabios") if p not in module.PACKAGES]
    module.NOT_NEEDED = re.compile(module.NOT_NEEDED.pattern + r"|/usr/bin/qemu-system-i386$|/usr/share/qemu/(?!bios-microvm|qboot)")
    module.PROGRAMS = module.PROGRAMS + [OLD_INSIDE]
    module.TREE = module.TREE + ["bench/vmm"]
    return module


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--old", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--only", choices=["boots", "clones", "exits", "memory"])
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        inside(options.rounds, [options.only] if options.only else ["clones", "boots"])
        return
    if options.old:
        OLD.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(options.old, OLD)
    build_old()
    nested = load_nested()
    found = {}
    boot = nested.boot

    def watched(*arguments, **more):
        said = boot(*arguments, **more)
        for line in said:
            if line.startswith(FIGURES):
                found.update(json.loads(line[len(FIGURES):]))
        return said

    nested.boot = watched
    sys.argv = ["nested-host", "--seconds", str(options.seconds), "--", "bench/vmm/nested.py", "--inside", "--rounds",
                str(options.rounds), *(["--only", options.only] if options.only else [])]
    code = 0
    try:
        nested.main()
    except SystemExit as end:
        code = end.code or 0
    if options.only in ("exits", "memory"):
        sys.exit(code)
    report(found, options.json)
    sys.exit(code if found else 1)


def report(found, path):
    bars = {"clones": ("clone to Python hello's verdict", 1 / 3, "<= 1/3 x"), "boots": ("Debian's kernel to its agent", 1.0, "<= 1.0 x")}
    rows = []
    print(f"\n{'in the nested host':36}{'bar, of QEMU kvm':20}{'verdict':10}measured (median, ms)")
    for name, (what, bar, text) in bars.items():
        if name not in found:
            print(f"{what:36}{text:20}{'-':10}not measured")
            continue
        ours, theirs = (statistics.median(found[name][build]) for build in ("airlock-vmm", "QEMU"))
        rows.append({"what": what, "bar": bar, "ratio": ours / theirs, "runs": found[name]})
        print(f"{what:36}{text:20}{'ok' if ours / theirs <= bar else 'SHORT':10}{ours:.0f} / {theirs:.0f} = {ours / theirs:.2f} x "
              f"({len(found[name]['QEMU'])} runs each)")
    if path:
        path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
