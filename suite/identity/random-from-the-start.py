# airlock-case: {"expect": "success", "has": "random at once", "note": "the kernel's random numbers are ready at the first instruction, do not block and do not repeat"}
import os
import tempfile
import uuid

first = os.getrandom(32, os.GRND_NONBLOCK)
strong = os.getrandom(32, os.GRND_RANDOM | os.GRND_NONBLOCK)
values = {first, strong, os.urandom(32), open("/dev/random", "rb").read(32), uuid.uuid4().bytes, uuid.uuid4().bytes,
          tempfile.mktemp(), tempfile.mktemp(), hash("a"), hash("b")}
spread = min(len(set(v)) for v in (first, strong))
print("random at once" if len(values) == 10 and spread > 16 else "NOT RANDOM", len(values), spread)
