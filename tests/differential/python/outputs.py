# differential: {"inputs": {"a.csv": "name,n\nx,1\ny,2\n", "dir.json": "{\"k\": [1, 2.50, null, \"\u00e9\"]}"}, "options": ["--out-files", "8"]}
import csv
import gzip
import json
import os
import sqlite3
import zipfile

rows = list(csv.DictReader(open("/in/a.csv")))
doc = json.load(open("/in/dir.json", encoding="latin-1"))
os.makedirs("/out/deep/er")
json.dump({"rows": rows, "doc": doc}, open("/out/deep/er/r.json", "w"), indent=1, sort_keys=True)
open("/out/bytes.bin", "wb").write(bytes(range(256)) * 3)
with gzip.GzipFile("/out/t.gz", "wb", mtime=0) as file:
    file.write(b"x" * 10000)
with zipfile.ZipFile("/out/z.zip", "w") as archive:
    archive.writestr(zipfile.ZipInfo("inner"), "text")
base = sqlite3.connect(":memory:")
base.execute("create table t(a, b)")
base.executemany("insert into t values(?, ?)", [(r["name"], r["n"]) for r in rows])
with open("/out/sums.txt", "w") as file:
    print(base.execute("select sum(b), sqlite_version() from t").fetchall(), file=file)
open("/out/left-open.txt", "w").write("flushed by nobody but the end")
