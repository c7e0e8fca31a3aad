# differential: {"verdict": "user_exception", "exit": 1}
import json

print(json.dumps({"a": 1}))
json.loads('{"a": tru}')
