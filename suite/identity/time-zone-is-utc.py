# airlock-case: {"expect": "success", "has": "UTC by default", "note": "no zone of the host is told; local time is UTC"}
import os
import time

now = time.time()
print(time.tzname, time.timezone, os.path.lexists("/etc/localtime"))
same = time.localtime(now)[:6] == time.gmtime(now)[:6]
os.environ["TZ"] = "XYZ-5"
time.tzset()
print("UTC by default" if same and time.timezone == -18000 else "OTHER ZONE")
