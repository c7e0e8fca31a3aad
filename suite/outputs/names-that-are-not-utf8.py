# airlock-case: {"expect": "success", "has": "named", "note": "names are bytes in Linux; what is not UTF-8 must neither break the result nor be cut short or merged"}
import os

names = [b"\xff\xfe", b"\xc3\x28", b"latin-\xfc", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\xae\xc0\xae", b"cut-\xe2\x82"]
for name in names:
    os.close(os.open(b"/out/" + name, os.O_CREAT | os.O_WRONLY, 0o600))
print("named", len(os.listdir(b"/out")))
