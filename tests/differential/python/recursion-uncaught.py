# differential: {"verdict": "user_exception", "exit": 1}
def ping(n):
    return pong(n + 1)


def pong(n):
    return ping(n + 1)


print("into it")
ping(0)
