"""The sitecustomize module of an interpreter that waits for its job (warm.h).

site imports it like any other. It removes itself, imports the image's own sitecustomize, loads what
many programs import, and leaves a path hook. python3 asks the path hooks whether main.py is an
archive, the last thing before it opens it: there it waits. Then it goes on to main.py by itself,
with nothing of this file below it on the stack.

Modules loaded ahead are taken out of sys.modules again. The first import of one puts it back, with
all that it imported, in the order in which a plain import would have: _Ahead. As soon as anything
could make a plain import find something else, they are forgotten, and imports are plain.
"""


def _wait():
    import sys

    bootstrap = sys.modules["_frozen_importlib"]
    os = sys.modules["os"]
    here = "/in"
    # Each costs a program that does not want it the pages that go at its end: no large libraries.
    ahead = ("collections contextlib csv ctypes datetime enum functools io itertools json math operator "
             "random re string time types warnings weakref").split()

    class Ahead:
        """Modules that were loaded once, waiting for their first import."""

        def __init__(self):
            self.plain = bootstrap._find_and_load_unlocked
            self.modules = {}  # name -> module
            self.imports = {}  # name -> names that its body brought in, in order
            self.order = {}  # name -> its attributes, in order
            self.searched = set()  # names that were looked for, not put there by a body
            self.path = tuple(sys.path)
            self.meta_path = tuple(sys.meta_path)
            self.path_hooks = tuple(sys.path_hooks)

        def load(self, names):
            """Imports all of them, notes who brought whom in, and takes them away again."""
            import builtins

            before = {name: id(module) for name, module in sys.modules.items()}
            caches = dict(sys.path_importer_cache)
            plain = builtins.__import__
            seen = set(before)
            loading = []

            def note(name):
                if loading and name != loading[-1]:
                    self.imports.setdefault(loading[-1], {})[name] = None

            def note_new():
                """Some bodies put modules there themselves, or have them imported by C."""
                for name in list(sys.modules):
                    if name not in seen:
                        seen.add(name)
                        note(name)

            def noting_load(name, import_):
                note_new()
                note(name)
                seen.add(name)
                self.searched.add(name)
                loading.append(name)
                try:
                    return self.plain(name, import_)
                finally:
                    note_new()
                    loading.pop()

            def noting_import(name, globals=None, locals=None, fromlist=(), level=0):
                note_new()
                if level:
                    package = (globals or {}).get("__package__") or (globals or {}).get("__name__")
                    base = package.rsplit(".", level - 1)[0]
                    name_is = base + "." + name if name else base
                else:
                    name_is = name
                note(name_is)
                module = plain(name, globals, locals, fromlist, level)
                note_new()
                for item in fromlist or ():
                    if name_is + "." + item in sys.modules:
                        note(name_is + "." + item)
                return module

            builtins.__import__ = noting_import
            bootstrap._find_and_load_unlocked = noting_load
            try:
                for name in names:
                    try:
                        plain(name)
                    except ImportError:
                        pass
            finally:
                builtins.__import__ = plain
                bootstrap._find_and_load_unlocked = self.plain
            for name in [n for n in sys.modules if n not in before]:
                self.modules[name] = sys.modules.pop(name)
                if type(self.modules[name]) is type(sys):  # typing puts classes there
                    self.order[name] = tuple(vars(self.modules[name]))
            for name, module in self.modules.items():
                parent, _, child = name.rpartition(".")
                holder = self.modules.get(parent) or sys.modules.get(parent)
                if holder is not None and vars(holder).get(child) is module:
                    delattr(holder, child)
            for name in [n for n in sys.path_importer_cache if n not in caches]:
                del sys.path_importer_cache[name]
            # By address: to hold what was there before would keep it from its end (__main__).
            self.known = {**before, **{name: id(module) for name, module in self.modules.items()}}

        def forget(self):
            bootstrap._find_and_load_unlocked = self.plain
            self.modules = {}

        def closure(self, name, found):
            """Every module ahead that importing this one brings, itself and its parents too."""
            if name in self.modules and name not in found:
                found[name] = None
                self.closure(name.rpartition(".")[0], found)
                for other in self.imports.get(name, ()):
                    self.closure(other, found)
                    self.closure(other.rpartition(".")[0], found)
            return found

        def is_plain(self, names):
            """Would a plain import find all of them, and all they use, where they were found?"""
            if tuple(sys.meta_path) != self.meta_path or tuple(sys.path_hooks) != self.path_hooks:
                return False
            extra = len(sys.path) - len(self.path)
            if extra < 0 or tuple(sys.path[extra:]) != self.path:
                return False
            first = sys.path[:extra]
            find = bootstrap.BuiltinImporter.find_spec, self.meta_path[-1].find_spec
            for name in names:
                top = name.partition(".")[0]
                if name in sys.modules:
                    if id(sys.modules[name]) != self.known.get(name):
                        return False
                elif first and name == top and find[0](name) is None and \
                        find[1](name, first) is not None:
                    return False
                for other in self.imports.get(name, ()):
                    if other in sys.modules and id(sys.modules[other]) != self.known.get(other):
                        return False
            return True

        def put_back(self, name):
            """As an import: entered before its body, which imports others; last after it."""
            if name in sys.modules or name not in self.modules:
                return
            parent, _, child = name.rpartition(".")
            if parent:
                self.put_back(parent)
            if name in sys.modules:  # its parent's body imported it
                return
            module = sys.modules[name] = self.modules[name]
            self.note_search(name, module, parent)
            for other in self.imports.get(name, ()):
                top = other.rpartition(".")[0]
                if top:
                    self.put_back(top)
                self.put_back(other)
            if name in self.order:
                names = vars(module)
                names.update([(key, names.pop(key)) for key in self.order[name] if key in names])
            del sys.modules[name]
            sys.modules[name] = module
            del self.modules[name]
            if parent:
                setattr(sys.modules[parent], child, module)
            if name == "random":
                module.seed()

        def note_search(self, name, module, parent):
            """A search leaves an entry for each directory that it looked into."""
            origin = getattr(getattr(module, "__spec__", None), "origin", None) or ""
            if name not in self.searched or not origin.startswith("/"):
                return
            for entry in sys.modules[parent].__path__ if parent else sys.path:
                self.meta_path[-1]._path_importer_cache(entry)
                if origin.startswith(entry + "/"):
                    break

        def find_and_load(self, name, import_):
            if name in self.modules:
                if self.is_plain(self.closure(name, {})):
                    self.put_back(name)
                    return sys.modules[name]
                self.forget()
            return self.plain(name, import_)

    def leave():
        """Nothing shows that this module was ever imported."""
        sys.path.remove(here)
        sys.path_importer_cache.pop(here, None)
        del sys.modules["sitecustomize"]
        del os.environ["PYTHONPATH"], os.environ["AIRLOCK_ROOM"]

    def keep():
        """What python3 need not take apart when it ends: that is work for nobody."""
        ctypes = modules.modules.get("ctypes")
        if ctypes is not None:
            for module in modules.modules.values():
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(module))

    def read(fd, size):
        data = b""
        while len(data) < size:
            part = os.read(fd, size - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def receive(fd):
        """Its job; rehearsals are run by forks, to which they are the job."""
        while True:
            head = read(fd, 11)
            data = read(fd, int(head[2:]))
            child = os.fork() if head[:1] == b"R" else 0
            if child == 0:
                count, *rest = data.split(b"\0")[:-1]
                return head[1:2], rest[:int(count)], rest[int(count):]
            os.write(63, b"h" if os.waitpid(child, 0)[1] == 0 else b"f")

    def known():
        """What it was started with: most jobs have the same, and nothing is left to do for them."""
        return [os.fsencode(arg) for arg in sys.orig_argv], [key + b"=" + value for key, value in os.environb.items()]

    def become(started, argv, env):
        if started[0] != argv:
            argv = [os.fsdecode(arg) for arg in argv]
            sys.orig_argv[:] = argv
            sys.argv[:] = argv[1:]
        if started[1] != env:
            os.environb.clear()
            for entry in env:
                key, _, value = entry.partition(b"=")
                os.environb[key] = value
        os.chdir("/work")

    def wait(path):
        """python3 asks the last of its path hooks about main.py: all of its start is behind it."""
        try:
            sys.path_hooks.remove(wait)
            started = known()
            os.write(63, b"r")
            archive, argv, env = receive(62)
            become(started, argv, env)
            bootstrap._find_and_load_unlocked = modules.find_and_load
            is_zip = archive == b"1"
            if archive == b"?":
                with open(path, "rb") as file:
                    is_zip = b"PK\5\6" in file.read()
            os.close(62)
            os.write(63, b"g")
            os.close(63)
        except BaseException as exc:
            fail(exc)
        if is_zip:
            return sys.path_hooks[0](path)
        raise ImportError("only directories are supported", path=path)

    leave()
    missing = None
    try:
        import sitecustomize  # the image's own
    except ImportError as exc:
        missing = exc
    modules = Ahead()
    modules.load(ahead)
    keep()
    sys.path_hooks.append(wait)
    return missing


def _enter():
    """Runs _wait() under a file name whose frames Python leaves out of tracebacks of imports."""
    import os

    def fail(exc):
        os.write(2, ("sitecustomize: %r\n" % (exc,)).encode())
        os._exit(127)

    try:
        with open(__file__, encoding="utf-8") as file:
            text = file.read()
        names = {"__name__": "_frozen_importlib", "fail": fail}
        exec(compile(text.partition("\ndef _enter")[0], "<frozen importlib._bootstrap>", "exec"), names)
        missing = names["_wait"]()
    except BaseException as exc:
        fail(exc)
    if missing is not None:
        raise missing  # which site expects


_enter()
