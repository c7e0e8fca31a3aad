# differential: {"verdict": "user_exception", "exit": 1}
# A program without future statements: none of who compiled it may reach it.
import sys

print(sys._getframe().f_code.co_flags, compile("1", "f", "eval").co_flags)


def f(x: 1 + 1) -> undefined_name:
    pass
