# airlock-case: {"expect": "success", "has": "named", "outputs": {"--help": 1, "-rf": 1, "...": 1, "..x": 1, ".hidden": 1, "~": 1}, "note": "names that a careless script takes for an option, a parent or a home directory"}
for name in ("-rf", "--help", ".hidden", "...", "..x", "~"):
    with open("/out/" + name, "w") as f:
        f.write("1")
print("named")
