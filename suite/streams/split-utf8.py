# airlock-case: {"expect":"success","stdout":"Žluťoučký kůň 🐎 прыг\n","note":"characters arrive in pieces of a byte: whoever decodes each piece by itself destroys them","source":"https://github.com/strands-agents/harness-sdk/issues/4156"}
import os
import time

for byte in "Žluťoučký kůň 🐎 прыг\n".encode():
    os.write(1, bytes([byte]))
    time.sleep(0.01)
