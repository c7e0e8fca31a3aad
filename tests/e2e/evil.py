"""State directories whose guest is hostile: evil-init in airlock-init's place (tests/guests)."""
import hashlib
import json
import threading

from harness import ROOT, WORK, Context

EVIL_INIT = ROOT / "build" / "tests" / "guests" / "evil-init"

LOCK = threading.Lock()
SHARED = {}


def entry(number, name, mode, data=b"", device=(0, 0)):
    """One file of a newc archive, as src/image/cpio.c writes it."""
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08x" % f for f in fields) + name.encode() + b"\0"
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def initramfs(modules, boot_mode):
    names = ["dev", "proc", "sys", "root", "run", "mnt"]
    parts = [entry(i + 1, name, 0o40755) for i, name in enumerate(names)]
    parts += [entry(10, "dev/console", 0o20600, device=(5, 1)),
              entry(11, "init", 0o100755, EVIL_INIT.read_bytes()),
              entry(12, "evil", 0o100644, boot_mode.encode() + b"\n"),
              entry(0, "TRAILER!!!", 0)]
    archive = b"".join(parts)
    return archive + bytes(-len(archive) % 512) + modules


def evil_state(t, boot_mode=""):
    """A state directory of its own below t, whole by every digest, whose machines run evil-init.

    boot_mode: what it does before READY; "" is nothing special.
    """
    state = t.private_state()
    (state / "slots").mkdir(mode=0o700)
    (state / "slots" / "lock").touch(mode=0o600)
    manifest = json.loads((state / "kernel.json").read_text(encoding="ascii"))
    modules = (state / "objects" / manifest["modules"]["sha256"]).read_bytes()
    data = initramfs(modules, boot_mode)
    digest = hashlib.sha256(data).hexdigest()
    (state / "objects" / digest).write_bytes(data)
    (state / "objects" / digest).chmod(0o444)
    manifest["initramfs"] = {"sha256": digest, "bytes": len(data)}
    (state / "kernel.json").unlink()  # a hard link: the state that it was copied from stays
    (state / "kernel.json").write_text(json.dumps(manifest), encoding="ascii")
    return state


def shared_evil_state():
    """One for all cases of a run, made on first use: what it does is chosen by the job."""
    with LOCK:
        if "state" not in SHARED:
            directory = WORK / "evil"
            directory.mkdir(parents=True)
            SHARED["state"] = evil_state(Context(directory))
        return SHARED["state"]
