# airlock-case: {"expect":"success","stdout":"nothing inherited\nno channel\n","note":"a descriptor left open or a port in reach would let the program speak to the host in the agent's name","source":"https://github.com/vm0-ai/vm0/issues/31040"}
import glob
import os

inherited = []
for fd in range(3, 4096):
    try:
        inherited.append((fd, os.readlink(f"/proc/self/fd/{fd}")))
        os.write(fd, b"alk1")
    except OSError:
        pass
print(inherited or "nothing inherited")
ports = glob.glob("/dev/v*port*") + glob.glob("/dev/virtio-ports/*") + glob.glob("/dev/hvc*") + glob.glob("/dev/vsock")
print(ports or "no channel")
