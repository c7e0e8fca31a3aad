# airlock-case: {"expect": "success", "has": "seven names", "note": "names that look the same (composed and decomposed, other alphabets, direction marks, blanks) stay apart or are reported"}
import os

names = ["caf\u00e9", "cafe\u0301", "a", "\u0430", "exe.txt\u202egpj", "zero\u200bwidth", "zerowidth"]
for name in names:
    with open("/out/" + name, "w") as f:
        f.write(name)
print("seven names" if len(os.listdir("/out")) == 7 else "MERGED")
