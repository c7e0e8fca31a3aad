# airlock-case: {"expect":"success","stdout":"ENOSPC\nbounded\n","limits":{"mem_mib":64},"note":"files in memory are a way around a limit on disk, and must not be one around the limit on memory","source":"https://github.com/superradcompany/microsandbox/issues/1007"}
import errno

written = 0
try:
    with open("/dev/shm/fill", "wb", buffering=0) as f:
        while written < 1 << 30:
            written += f.write(b"\xaa" * (1 << 18))
except OSError as e:
    print(errno.errorcode[e.errno])
print("bounded" if 16 << 20 < written < 64 << 20 else written)
