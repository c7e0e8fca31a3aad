# airlock-case: {"expect":"user_exception","exit":1,"stdout":"before\n","err":"UnicodeEncodeError","note":"half a character cannot be printed: Python's error, not the sandbox's","source":"https://github.com/python-discord/snekbox/blob/main/tests/test_nsjail.py"}
print("before", flush=True)
print("\ud83d")
