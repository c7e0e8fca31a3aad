# airlock-case: {"expect": "success", "stdout": "hello\n", "exit": 0, "quick": true, "note": "control: an ordinary program ends with success and its exact text"}
print("hello")
