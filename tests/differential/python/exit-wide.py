# differential: {"verdict": "user_exception", "exit": 3}
print("before")
raise SystemExit(256 + 3)
