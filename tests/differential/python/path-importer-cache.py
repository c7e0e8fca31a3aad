# differential: {}
import sys

for place, finder in sys.path_importer_cache.items():
    print(place, type(finder).__name__)
import json

print("after an import")
for place, finder in sys.path_importer_cache.items():
    print(place, type(finder).__name__)
