"""Shows the JSON result of `airlock run --json` (stdin) and the outputs in DIR to a person."""
import json
import os
import sys

HEAD_LINES = 5


def main():
    result = json.load(sys.stdin)
    for stream in ("stdout", "stderr"):
        if result[stream]["encoding"] == "utf8":
            for line in result[stream]["data"].splitlines():
                print(f"   {stream}: {line}")
    for output in result["outputs"]:
        print(f"-- {output['name']}: {output['bytes']} bytes, sha256 {output['sha256'][:16]}...")
        path = os.path.join(sys.argv[1], output["name"])
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as text:
                for _, line in zip(range(HEAD_LINES), text):
                    print("   " + line.rstrip("\n")[:100])
    print(f"-- verdict: {result['verdict']} ({result['message']})")
    machine = result["machine"]
    print(f"   machine {machine['id']}, engine {machine['engine']}, isolation {machine['isolation']}")
    print("   phases, ms since submission:",
          ", ".join(f"{name} {ns / 1e6:.0f}" for name, ns in result["phases"].items()
                    if isinstance(ns, (int, float))))


main()
