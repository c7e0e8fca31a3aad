# differential: {"stdin": "x = 5\nprint(x)\nimport sys; sys.exit(4)\n", "verdict": "user_exception", "exit": 4}
import code

value = eval("__name__ + str(len('abc'))")
exec("inside = __name__")
print(value, inside, eval("__builtins__ is B", {"B": 1})  if False else "skipped")
print(sorted(eval("dir()", {})), sorted(eval("globals()", {"one": 1})))
code.interact(banner="a console", local={"x": 1})
