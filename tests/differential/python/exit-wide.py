# differential: {"verdict": "user_exception", "exit": 3}
raise SystemExit(256 + 3)
