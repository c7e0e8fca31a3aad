# differential: {}
import ast
import inspect
import linecache
import sys
import tokenize


class Here:
    def method(self):
        """doc"""


def generator():
    yield 1


print(inspect.getsource(Here.method), inspect.getsourcelines(generator)[1], inspect.getfile(Here))
print(linecache.getline(__file__, 2), len(ast.parse(open(__file__).read()).body), tokenize.open(__file__).encoding)
print(Here.method.__code__.co_filename, Here.__module__, Here.__qualname__, generator.__globals__ is globals())
print(Here.method.__code__.co_positions().__next__(), generator().gi_code.co_name, inspect.getmodule(Here) is sys.modules["__main__"])
print(repr(Here().method).split(" at ")[0], repr(generator).split(" at ")[0])
