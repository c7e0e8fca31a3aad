# differential: {"has": "None 624"}
import random

print(random._inst.gauss_next, random.getstate()[2], random.SystemRandom().random() < 1)
