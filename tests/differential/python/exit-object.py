# differential: {"verdict": "user_exception", "exit": 1}
raise SystemExit(("a", {"tuple": 2.5}))
