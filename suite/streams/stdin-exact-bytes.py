# airlock-case: {"expect":"success","stdout":"00ff0d0a1a80feff0a0d\n","stdin_hex":"00ff0d0a1a80feff0a0d","note":"every byte of stdin arrives as it is: no text mode, no line ends, no end at NUL or Ctrl-Z","source":"https://github.com/circuitsacul/io/issues/46"}
import sys

print(sys.stdin.buffer.read().hex())
