# airlock-case: {"expect":"user_exception","exit":1,"stdout":"","err":"RecursionError","note":"the interpreter's own limit on depth ends it as an ordinary exception"}
def down(n):
    return down(n + 1) + 1


print(down(0))
