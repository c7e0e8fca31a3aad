# airlock-case: {"expect": "success", "has": "left behind", "outputs": {"log": 65536}, "note": "a child goes on writing when the main program has ended; it is killed before anything is collected"}
import os

fd = os.open("/out/log", os.O_CREAT | os.O_RDWR)
os.ftruncate(fd, 65536)
if os.fork() == 0:
    os.setsid()
    n = 0
    while True:
        os.pwrite(fd, b"%4d" % (n % 10000), n % 16384 * 4)
        n += 1
print("left behind")
