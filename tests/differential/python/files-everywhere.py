# differential: {}
import errno
import os

for place in ("/", "/in", "/work", "/out", "/tmp", "/var/tmp", "/dev", "/dev/shm", "/etc", "/usr/lib", "/proc", "/sys", "/run", "/root", "/home", "/opt"):
    path = os.path.join(place, "mark")
    try:
        with open(path, "x") as file:
            file.write("mark")
        print(place, "written")
        os.unlink(path)
    except OSError as error:
        print(place, errno.errorcode[error.errno])
print(sorted(os.listdir("/")), sorted(os.listdir("/dev")), sorted(os.listdir("/etc"))[:100])
