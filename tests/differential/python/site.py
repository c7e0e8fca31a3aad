# differential: {}
import site
import sys

print(site.ENABLE_USER_SITE, site.USER_BASE, site.USER_SITE, site.PREFIXES, site.getsitepackages())
print(site.getusersitepackages())
module = sys.modules.get("sitecustomize")
print(module and (module.__file__, sorted(vars(module))))
print("usercustomize" in sys.modules, "apport_python_hook" in sys.modules)
import sysconfig

print(sysconfig.get_paths(), sysconfig.get_default_scheme())
import importlib.metadata

print(sorted(d.metadata["Name"] for d in importlib.metadata.distributions()))
