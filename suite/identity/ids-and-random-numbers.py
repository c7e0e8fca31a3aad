# airlock-case: {"expect": "success", "has": "random at once", "note": "random numbers are ready at the first instruction, neither block nor repeat, and machine id and boot id are no constants of the image"}
import os
import tempfile
import uuid

first = os.getrandom(32, os.GRND_NONBLOCK)
strong = os.getrandom(32, os.GRND_RANDOM | os.GRND_NONBLOCK)
values = {first, strong, os.urandom(32), open("/dev/random", "rb").read(32), uuid.uuid4().bytes, uuid.uuid4().bytes,
          tempfile.mktemp(), tempfile.mktemp(), hash("a"), hash("b")}
ids = [open(path).read().strip().replace("-", "") for path in ("/etc/machine-id", "/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/random/uuid")]
good = len(set(ids)) == 3 and all(len(x) == 32 and len(set(x)) > 5 and int(x, 16) for x in ids)
spread = min(len(set(v)) for v in (first, strong))
print("random at once" if good and len(values) == 10 and spread > 16 else "NOT RANDOM", len(values), spread)
