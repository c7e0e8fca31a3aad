# differential: {"env": {"LANG": "C", "LC_ALL": "POSIX"}, "fresh": "the interpreter chose its encodings at its start"}
import locale
import sys

print(sys.stdout.encoding, sys.stdout.errors, sys.flags.utf8_mode, locale.setlocale(locale.LC_CTYPE), sys.getfilesystemencoding())
