# airlock-case: {"expect": "success", "has": "named", "note": "drive letters, device names, quotes, wildcards, percent codes and trailing blanks, harmless here and dangerous where outputs are used"}
names = ["CON", "nul.txt", "c:stream", "back\\slash", "..\\..\\up", "%2e%2e%2fup", "quo'te\"s", "$(id)", "a;b|c&d", "*?[x]", " lead", "trail ", "dot."]
for name in names:
    with open("/out/" + name, "w") as f:
        f.write(name)
print("named", len(names))
