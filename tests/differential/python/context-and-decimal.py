# differential: {}
import contextvars
import decimal
import fractions
import statistics
import threading

var = contextvars.ContextVar("var", default="unset")
print(len(contextvars.copy_context()), var.get(), decimal.getcontext(), decimal.Decimal(1) / 3)
decimal.getcontext().prec = 5
thread = threading.Thread(target=lambda: print(decimal.getcontext().prec, var.get()))
thread.start()
thread.join()
print(decimal.Decimal(2).sqrt(), fractions.Fraction("0.75"), statistics.stdev([1, 2, 4]), len(contextvars.copy_context()))
