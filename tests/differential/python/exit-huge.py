# differential: {"verdict": "user_exception", "exit": 255}
print("before")
raise SystemExit(1 << 70)
