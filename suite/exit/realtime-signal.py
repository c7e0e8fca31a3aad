# airlock-case: {"expect":"user_exception","signal":"SIGRTMIN+3","note":"signals above 31 have no fixed names and must be told apart all the same"}
import os
import signal

os.kill(os.getpid(), signal.SIGRTMIN + 3)
