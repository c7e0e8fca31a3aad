# airlock-case: {"expect":"success","stdout":"","outputs":{"proof.txt":5},"note":"stdin, stdout and stderr are closed: the end of a stream is not the end of the program","source":"https://github.com/DMOJ/judge-server/tree/master/testsuite/bridged_interactor/tests/py2_closes_pipes"}
import os
import time

os.closerange(0, 1024)
time.sleep(0.5)
with open(os.environ["OUT"] + "/proof.txt", "w") as f:
    f.write("proof")
