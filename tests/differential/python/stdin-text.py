# differential: {"stdin": "first line\nsecond\r\n\u00c3\u00a9 third\rfourth\n\nno newline at the end"}
import sys

print(repr(input("prompt> ")))
print(repr(sys.stdin.readline()), sys.stdin.newlines)
print([line for line in sys.stdin])
print(repr(sys.stdin.read()), sys.stdin.buffer.read(), sys.stdin.newlines)
try:
    input()
except EOFError as error:
    print("EOFError", error)
