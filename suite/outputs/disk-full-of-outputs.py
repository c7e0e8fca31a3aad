# airlock-case: {"expect": "output_overflow", "which": "output_bytes", "has": "ENOSPC", "limits": {"disk_mib": 8, "out_total_kib": 1024}, "outputs": {}, "note": "a scratch disk filled to its last block by outputs is still collected in order"}
import errno

try:
    with open("/out/all", "wb", buffering=0) as f:
        while True:
            f.write(bytes(65536))
except OSError as e:
    print(errno.errorcode[e.errno])
