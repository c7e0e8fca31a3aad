# airlock-case: {"expect": "success", "has": "all alone", "note": "a pid namespace of its own: small numbers, and no process of the guest's agent or kernel in sight"}
import os

seen = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
print(os.getpid(), os.getppid(), seen)
print("all alone" if os.getpid() < 10 and seen == [os.getpid()] else "COMPANY")
