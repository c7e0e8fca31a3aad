# differential: {"varies": [["(pipe|socket|anon_inode):\\[\\d+\\]", "\\1:[N]", "inode numbers are counted by the kernel"]]}
import fcntl
import os
import stat

for fd in (0, 1, 2):
    st = os.fstat(fd)
    print(fd, os.readlink(f"/proc/self/fd/{fd}"), stat.filemode(st.st_mode), st.st_uid, st.st_gid, st.st_nlink, st.st_size)
    print(fcntl.fcntl(fd, fcntl.F_GETFL), fcntl.fcntl(fd, fcntl.F_GETFD))
    for line in open(f"/proc/self/fdinfo/{fd}"):
        if not line.startswith("ino:"):
            print("  ", line.split())
    try:
        print(fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ))
    except OSError as error:
        print(error)
