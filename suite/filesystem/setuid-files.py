# airlock-case: {"expect": "success", "has": "no setuid file", "never": "BREACH", "note": "the image holds no setuid, setgid or capability-bearing file, and one made on scratch gives no identity"}
import os
import shutil
import stat
import subprocess

hit, seen = [], 0
for top in ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec", "/opt", "/usr/local"):
    for base, dirs, files in os.walk(top):
        dirs[:] = [] if base.count("/") > 3 else dirs
        for name in files:
            s = os.lstat(os.path.join(base, name))
            seen += 1
            if stat.S_ISREG(s.st_mode) and s.st_mode & 0o6000:
                hit.append(os.path.join(base, name))
shutil.copy("/usr/bin/id", "/work/who")
os.chmod("/work/who", 0o6755)
ids = subprocess.run(["/work/who", "-u"], capture_output=True, check=True).stdout
if ids != b"1000\n":
    hit.append(ids)
print("BREACH" if hit else "no setuid file", hit, "looked at more than 300:", seen > 300)
