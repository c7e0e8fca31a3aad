# airlock-case: {"expect":"timeout","which":"cpu","stdout":"matching\n","limits":{"cpu_s":1,"wall_s":60},"note":"one call of the regex engine that backtracks for years"}
import re

print("matching", flush=True)
print(re.fullmatch(r"(\w+\s?)+!", "all work and no play makes a dull machine " * 3))
