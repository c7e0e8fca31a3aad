# differential: {"verdict": "user_exception", "exit": 255}
print("before")
exit(-1)
