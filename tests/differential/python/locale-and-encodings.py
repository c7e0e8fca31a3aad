# differential: {"varies": [["0x[0-9a-f]+", "0xN", "an address"]]}
import codecs
import locale
import os
import sys
import time

print(locale.setlocale(locale.LC_ALL), locale.getlocale(), locale.getpreferredencoding(), locale.getencoding())
print(sys.getdefaultencoding(), sys.getfilesystemencoding(), sys.getfilesystemencodeerrors(), sys.flags.utf8_mode)
print(locale.nl_langinfo(locale.CODESET), locale.localeconv(), time.tzname, time.timezone, time.strftime("%c", time.gmtime(0)))
print(codecs.lookup("utf8"), codecs.lookup_error("strict"), os.fsencode("\udcff\u00e9"), "%s" % locale.str(1.5))
print(os.listdir(b"."), open("main.py").encoding, ascii(os.strerror(2)), sorted("b\u00e4A", key=locale.strxfrm))
for setting in ("de_DE.UTF-8", "C", ""):
    try:
        print(locale.setlocale(locale.LC_ALL, setting))
    except locale.Error as error:
        print(error)
