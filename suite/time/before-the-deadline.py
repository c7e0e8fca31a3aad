# airlock-case: {"expect":"success","stdout":"made it\n","limits":{"wall_s":3},"note":"boot, collection and teardown are not charged to a program that sleeps for most of its time","source":"https://github.com/criyle/go-judge/issues/64"}
import time

time.sleep(2)
print("made it")
