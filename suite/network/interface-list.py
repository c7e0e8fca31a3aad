# airlock-case: {"expect": "success", "has": "only loopback", "note": "network is refused by there being no device, not by rules: the list of interfaces shows it"}
import socket

names = [name for _, name in socket.if_nameindex()]
devices = [line.split(":")[0].strip() for line in open("/proc/net/dev").read().splitlines()[2:]]
routes = open("/proc/net/route").read().splitlines()[1:]
arp = open("/proc/net/arp").read().splitlines()[1:]
print(names, devices, routes, arp)
print("only loopback" if set(names) <= {"lo"} and set(devices) <= {"lo"} and not routes and not arp else "MORE THAN LOOPBACK")
