# differential: {"stdin": "\u0000\u0001\r\n\u00ff\u00fe\u001a\u0004 middle \u0000 end\r"}
import os
import sys

print(os.read(0, 3))
print(sys.stdin.buffer.read(5), sys.stdin.buffer.peek(3)[:3])
print(sys.stdin.buffer.read(), os.read(0, 10))
