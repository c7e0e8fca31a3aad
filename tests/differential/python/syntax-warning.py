# differential: {}
x = 5
if x is 5:
    print("is", "\d")
assert (x, "always true")
