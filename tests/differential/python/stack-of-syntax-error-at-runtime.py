# differential: {"verdict": "user_exception", "exit": 1}
for code in ("1 +", "def f(:", "'open", "\x00", "x = = 2", "  indented", "print 'two'", "for = 1", "f(**)", "(" * 300):
    try:
        compile(code, "<made up>", "exec")
    except (SyntaxError, ValueError, MemoryError) as error:
        print(type(error).__name__, error, getattr(error, "offset", None), getattr(error, "text", None))
exec("if True:\n  a = 1\n   b = 2")
