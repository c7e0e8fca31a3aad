# differential: {"verdict": "user_exception", "exit": 1}
class Own(Exception):
    def __str__(self):
        return "own text\nof two lines"


def first():
    int("twelve")


def second():
    try:
        first()
    except ValueError as error:
        error.add_note("a note")
        raise Own() from error


try:
    second()
except Own:
    try:
        [][1]
    except IndexError:
        raise ExceptionGroup("several", [KeyError("k"), ExceptionGroup("inner", [OSError(2, "none", "/x")])])
