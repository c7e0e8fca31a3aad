# airlock-case: {"expect":"user_exception","exit":1,"stdout":"","err":"success","note":"an exit by a text instead of a number is exit code 1, whatever the text says"}
import sys

sys.exit("success")
