// airlock-case: {"expect":"success","stdout":"made it\n","limits":{"wall_s":6},"note":"boot, collection and teardown are not charged to a program that sleeps for part of its time","source":"https://github.com/criyle/go-judge/issues/64"}
setTimeout(() => console.log("made it"), 1500);
