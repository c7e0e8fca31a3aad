# differential: {"verdict": "user_exception", "signal": "SIGSEGV", "varies": [["hread 0x[0-9a-f]{16}", "hread 0xN", "an address"]]}
import faulthandler

faulthandler.enable()


def crash():
    faulthandler._sigsegv()


print("before", flush=True)
crash()
