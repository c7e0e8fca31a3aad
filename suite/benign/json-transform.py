# airlock-case: {"expect":"success","stdout":"{\"ada\": 5, \"bob\": 2}\n","stdin":"[{\"who\":\"ada\",\"n\":2},{\"who\":\"bob\",\"n\":2},{\"who\":\"ada\",\"n\":3}]","note":"control: the kind of work that sandboxes are for"}
import json
import sys
from collections import Counter

totals = Counter()
for row in json.load(sys.stdin):
    totals[row["who"]] += row["n"]
print(json.dumps(totals, sort_keys=True))
