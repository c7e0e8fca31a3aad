# differential: {}
import gc

print(gc.get_freeze_count())
gc.unfreeze()
print(gc.get_freeze_count(), gc.collect() >= 0)
