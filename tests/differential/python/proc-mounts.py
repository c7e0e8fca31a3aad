# differential: {"varies": [["(?m)^0:\\d+ ", "0:N ", "anonymous devices are counted by the kernel"]]}
import os

# Mounts of a job come first or last, by when the namespace was made: docs/warm.md.
print("\n".join(sorted(line.split(" ", 2)[2] for line in open("/proc/self/mountinfo"))))
for place in ("/", "/in", "/work", "/out", "/tmp", "/var/tmp", "/dev/shm", "/dev"):
    st, vfs = os.stat(place), os.statvfs(place)
    print(place, oct(st.st_mode), st.st_uid, st.st_gid, vfs.f_bsize, vfs.f_frsize, vfs.f_files, vfs.f_flag, vfs.f_namemax)
    print(sorted(os.listdir(place)))
