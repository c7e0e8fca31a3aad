# differential: {"verdict": "user_exception", "exit": 1}
"""Doctests of the program itself.

>>> double(4)
8
>>> double("a")
'ab'
"""
import doctest
import sys


def double(x):
    """
    >>> double([1])
    [1, 1]
    >>> double(None)
    Traceback (most recent call last):
    TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'
    """
    return x * 2


sys.exit(doctest.testmod().failed)
