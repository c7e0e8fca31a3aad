# differential: {"stdin_bytes": 2000000}
print("not interested")
