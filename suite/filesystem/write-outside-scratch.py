# airlock-case: {"expect": "success", "has": "nothing got through", "never": "BREACH", "note": "tries to create a file in every directory that is not meant for writing; scratch itself must work"}
import os

hit, tried = [], 0
for base in ("/", "/bin", "/boot", "/dev", "/etc", "/home", "/in", "/lib", "/mnt", "/opt", "/proc", "/proc/sys/kernel", "/root",
             "/run", "/sbin", "/srv", "/sys", "/usr", "/usr/bin", "/usr/local/bin", "/usr/lib/python3", "/var", "/var/lib", "/var/log"):
    tried += 1
    try:
        os.close(os.open(base + "/planted", os.O_CREAT | os.O_WRONLY))
        hit.append(base)
    except OSError as e:
        print(base, os.strerror(e.errno))
for base in ("/work", "/out", "/tmp", "/var/tmp", "/dev/shm"):
    with open(base + "/mine", "w") as f:
        f.write("x")
    os.unlink(base + "/mine")
print("BREACH" if hit else "nothing got through", hit, "of", tried)
