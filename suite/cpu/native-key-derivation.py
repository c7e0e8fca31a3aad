# airlock-case: {"expect":"timeout","which":"cpu","stdout":"deriving\n","limits":{"cpu_s":1,"wall_s":60},"note":"a library call that never comes back to the interpreter, where no signal handler or tracer would run"}
import hashlib

print("deriving", flush=True)
hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 2_000_000_000)
print("done", flush=True)
