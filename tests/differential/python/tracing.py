# differential: {}
import sys

events = []


def tracer(frame, event, arg):
    events.append((event, frame.f_code.co_name, frame.f_lineno))
    return tracer


def f(x):
    return x + 1


sys.settrace(tracer)
f(1)
sys.settrace(None)
profiled = []
sys.setprofile(lambda frame, event, arg: profiled.append((event, frame.f_code.co_name)))
f(2)
sys.setprofile(None)
print(events, profiled)
import trace

tracer = trace.Trace(count=False, trace=True)
tracer.runfunc(f, 3)
sys.setprofile(lambda frame, event, arg: print(event, frame.f_code.co_name, frame.f_code.co_filename) if frame.f_back is None else None)
print("last line")
