# airlock-case: {"expect": "success", "has": "named 24", "dropped": 0, "note": "line ends, escapes, bytes that are no UTF-8, options, look-alikes, other case and what other systems fear: all arrive, none is cut or merged"}
import os

names = [b"two\nlines", b"tab\there", b"\x1b[2Jcleared", b"bell\x07", b"\x7f", b"\x01", b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", b"\xc0\xae\xc0\xae",
         b"-rf", b"--help", b"...", b"..x", b".hidden", "caf\u00e9".encode(), "cafe\u0301".encode(), "exe.txt\u202egpj".encode(), b"readme", b"README",
         b"CON", b"back\\slash", b"%2e%2e%2fup", b" trail "]
for name in names:
    with open(b"/out/" + name, "wb") as f:
        f.write(name)
print("named", len(os.listdir(b"/out")))
