# differential: {"has": "None None 625"}
import random

print(random._inst.gauss_next, random.getstate()[2], len(random.getstate()[1]), random.SystemRandom().random() < 1)
