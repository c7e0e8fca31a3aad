# airlock-case: {"expect":"success","out_bytes":3000,"has":"012345678901234567890123456789","note":"thousands of tiny writes: none is lost, none costs a message of its own for ever","source":"https://github.com/engineer-man/piston/issues/465"}
import os

for i in range(3000):
    os.write(1, b"%d" % (i % 10))
