# airlock-case: {"expect":"user_exception","exit":1,"stdout":"before\n","err":["Traceback","main.py","ZeroDivisionError"],"quick":true,"note":"the most usual failure: code, place and reason reach the caller"}
print("before")
print(1 / 0)
