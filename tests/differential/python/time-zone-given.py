# differential: {"env": {"TZ": "America/New_York"}, "fresh": "the C library has read TZ already"}
import datetime
import time

print(time.tzname, time.timezone, time.localtime(0), datetime.datetime.fromtimestamp(1700000000).isoformat())
