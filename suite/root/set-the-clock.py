# airlock-case: {"expect": "success", "has": "clock moved", "root": true, "note": "the guest's clock jumps by decades in both directions; limits and the times in the result are the host's"}
import time

for year in (2000, 2060, 1980, 2030):
    time.clock_settime(time.CLOCK_REALTIME, (year - 1970) * 365.25 * 86400)
    time.sleep(0.05)
    print(time.gmtime().tm_year)
print("clock moved", time.gmtime().tm_year)
