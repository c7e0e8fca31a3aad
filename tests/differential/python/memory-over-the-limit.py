# differential: {"verdict": "oom", "options": ["--memory", "128M"]}
kept = []
print("to the end", flush=True)
while True:
    kept.append(bytes([1]) * (4 << 20))
