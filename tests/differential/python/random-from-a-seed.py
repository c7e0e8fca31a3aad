# differential: {}
import random
import string

random.seed(42)
print(random.random(), random.randint(1, 1000), random.choice(string.ascii_letters), random.sample(range(100), 5))
print(random.gauss(0, 1), random.getrandbits(100), random.shuffle(list(range(5))), random.triangular(), random.randbytes(4))
random.seed("text")
print(random.random(), random.getstate()[0], len(random.getstate()[1]), random.getstate()[2])
print(random.Random(7).random(), hash((1, 2.5, None is None)), hash(10 ** 30), hash(1.25))
before = random.gauss(0, 1)
random.setstate(random.getstate())
print(before, random._inst.gauss_next)
