# differential: {"varies": [["(?m)^\\d+ \\d+ ", "N N ", "mount ids are counted by the kernel"], [" 0:\\d+ ", " 0:N ", "so are anonymous devices"]]}
import os

print(open("/proc/self/mountinfo").read())
for place in ("/", "/in", "/work", "/out", "/tmp", "/var/tmp", "/dev/shm", "/dev"):
    st, vfs = os.stat(place), os.statvfs(place)
    print(place, oct(st.st_mode), st.st_uid, st.st_gid, vfs.f_bsize, vfs.f_frsize, vfs.f_files, vfs.f_flag, vfs.f_namemax)
    print(sorted(os.listdir(place)))
