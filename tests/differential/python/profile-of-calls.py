# differential: {"varies": [["\\d+\\.\\d{3}( seconds)?", "T\\1", "time"], ["built-in method [^}]*", "built-in", "order by time"]]}
import cProfile
import io
import pstats


def leaf(n):
    return sorted(range(n))


def tree(n):
    return [leaf(n)] + (tree(n - 1) if n else [])


profile = cProfile.Profile()
profile.runcall(tree, 5)
out = io.StringIO()
pstats.Stats(profile, stream=out).sort_stats("name").print_stats("main.py")
print(out.getvalue())
cProfile.run("tree(2)", sort="name")
