# airlock-case: {"expect": "success", "has": "named", "never": "BREACH", "note": "names with line ends, tabs, escapes and bells can forge lines of a listing; each arrives exactly or is reported as dropped"}
names = ["two\nlines", "tab\there", "\x1b[2Jcleared", "bell\x07", "back\x08space", "\x7f", "\x01", "carriage\rreturn"]
for name in names:
    with open("/out/" + name, "w") as f:
        f.write(name)
print("named", len(names))
