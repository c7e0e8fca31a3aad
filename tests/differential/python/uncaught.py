# differential: {"verdict": "user_exception", "exit": 1}
def deepest(value):
    return {"a": [1, 2, 3]}["a"][value] + (lambda: 1 / 0)()


def middle(value):
    for _ in range(1):
        deepest(value)


class Way:
    def __call__(self, value):
        with open("/dev/null"):
            middle(value)


print("before")
Way()(2)
