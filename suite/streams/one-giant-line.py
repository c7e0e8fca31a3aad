# airlock-case: {"expect":"success","out_bytes":800000,"limits":{"out_kib":1024},"note":"no newline at all: whoever reads by lines holds everything, or cuts","source":"https://github.com/engineer-man/piston/issues/695"}
print("A" * 800_000, end="")
