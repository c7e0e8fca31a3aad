# airlock-case: {"expect": "success", "has": "no name resolved", "never": "BREACH", "note": "a resolver would be a channel to the outside; lookups fail, and fast"}
import socket

hit = []
for name in ("example.com", "metadata.google.internal", "host.docker.internal", "secret.attacker.example", "localhost.example", "airlock"):
    try:
        hit.append((name, socket.getaddrinfo(name, 80)[0][4][0]))
    except OSError as e:
        print(name, e)
hit = [h for h in hit if not h[1].startswith(("127.", "::1"))]
try:
    print(open("/etc/resolv.conf").read())
except OSError as e:
    print("resolv.conf", e.strerror)
print("BREACH" if hit else "no name resolved", hit)
