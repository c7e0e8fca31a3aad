# airlock-case: {"expect":"success","stdout":"2 files\n","in":{"a.txt":"first","b.txt":"second"},"outputs":{"copies/A.TXT":5,"copies/B.TXT":6,"index.json":18},"quick":true,"note":"control: every input arrives, every output is exported, in a directory too"}
import json
import pathlib

out = pathlib.Path("/out")
(out / "copies").mkdir()
inputs = sorted(pathlib.Path("/in").iterdir())
for path in inputs:
    (out / "copies" / path.name.upper()).write_text(path.read_text().upper())
(out / "index.json").write_text(json.dumps([p.name for p in inputs]))
print(len(inputs), "files")
