# differential: {}
import resource

print(open("/proc/self/limits").read())
for name in sorted(n for n in dir(resource) if n.startswith("RLIMIT_")):
    print(name, resource.getrlimit(getattr(resource, name)))
print(resource.getpagesize())
