# airlock-case: {"expect": "success", "has": "known families only", "only": "Node.js cannot name an address family", "note": "rarely used families are where kernels break; the guest's kernel must not load or offer them"}
import errno
import socket

able = set()
for family in range(46):
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind).close()
            able.add(family)
        except OSError as e:
            if e.errno not in (errno.EAFNOSUPPORT, errno.ESOCKTNOSUPPORT, errno.EPROTONOSUPPORT, errno.EPERM, errno.EACCES):
                print(family, kind, errno.errorcode[e.errno])
print(sorted(able))
print("known families only" if able <= {1, 2, 10, 16} else "MORE FAMILIES")
