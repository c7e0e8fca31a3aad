# differential: {"known": "gc.get_freeze_count() counts what was there when the machine was saved"}
import gc

print(gc.get_freeze_count())
gc.unfreeze()
print(gc.get_freeze_count(), gc.collect() >= 0)
