# airlock-case: {"expect":"user_exception","exit":9,"stdout":"replaced\n","only":"Node.js has no call that replaces its own process","note":"the main process stays the same one when another program runs in it; its exit code is that program's"}
import os

os.execvp("sh", ["sh", "-c", "echo replaced; exit 9"])
