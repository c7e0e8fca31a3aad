# airlock-case: {"expect": "success", "has": "still here", "in": {"given.txt": "given\n"}, "outputs": {}, "note": "deletes all it can reach, its own script included; only scratch is lost and the job ends as usual"}
import os

gone, kept = [], 0
for base, dirs, files in os.walk("/", topdown=False):
    if base.startswith(("/proc", "/usr/share", "/usr/lib")):
        continue
    for path in [os.path.join(base, n) for n in files] + [base]:
        try:
            (os.unlink if path != base else os.rmdir)(path)
            gone.append(path)
        except OSError:
            kept += 1
print("removed", gone, "kept more than 100:", kept > 100)
assert not [p for p in gone if not p.startswith(("/work/", "/tmp/", "/out/", "/var/tmp/", "/dev/shm/"))], "BREACH"
print("still here", open("/in/given.txt").read().strip())
