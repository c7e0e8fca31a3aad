# airlock-case: {"expect":"timeout","which":"cpu","stdout":"inserting\n","limits":{"cpu_s":1,"wall_s":60},"only":"V8 seeds the hashes of strings and numbers, so a program cannot choose keys that collide","note":"a table whose keys all have one hash makes each insertion as slow as the table is long"}
import sys

modulus = sys.hash_info.modulus
print("inserting", flush=True)
table = {}
for i in range(1, 200_000):
    table[i * modulus] = i
print(len(table), flush=True)
