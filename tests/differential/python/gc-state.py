# differential: {}
import gc
import weakref

print(gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.garbage, gc.callbacks)


class Node:
    pass


node = Node()
node.me = node
gone = weakref.ref(node, lambda r: print("collected"))
del node
gc.collect()
print(gone(), gc.is_tracked(globals()), gc.garbage)
