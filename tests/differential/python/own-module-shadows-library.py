# differential: {}
# The program's directory comes first on sys.path: a module of its own there wins over the library's.
import os

for name in ("json", "random", "collections_extra", "tempfile", "re", "datetime", "typing", "subprocess", "token"):
    with open(f"{name}.py", "w") as file:
        file.write(f"own = 'own {name}'\n")
for name in ("json", "random", "collections_extra", "tempfile", "datetime", "typing", "subprocess", "token"):
    module = __import__(name)
    print(name, getattr(module, "own", "the library's"), module.__file__)
os.mkdir("email")
print(__import__("email").__file__)
