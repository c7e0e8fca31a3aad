# airlock-case: {"expect":"user_exception","signal":"SIGSEGV","stdout":"before\n","note":"a real crash in native code: it takes the interpreter down and nothing else","source":"https://github.com/python-discord/snekbox/blob/main/tests/test_nsjail.py"}
import ctypes

print("before", flush=True)
ctypes.string_at(0)
