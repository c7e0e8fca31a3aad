# airlock-case: {"expect":"success","stdout":"a\u0000b\u001b[2J\u001b[1;31m\u001b]0;owned\u0007\r\b\u007f\u0085\u2028\ufeffend","note":"NUL, terminal escapes and odd line ends stay the bytes that they are in the result"}
import sys

text = "a\0b\33[2J\33[1;31m\33]0;owned\7\r\b\x7f\x85\u2028\ufeffend"
sys.stdout.buffer.write(text.encode())
