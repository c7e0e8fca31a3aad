"""Shows the JSON result of `airlock run --json` (stdin) and the outputs in DIR to a person."""
import json
import os
import sys

HEAD_LINES = 5
# What a person calls the time between two phases of the result, and which two.
SPANS = [("stage", None, "staged_ns"), ("boot", "staged_ns", "ready_ns"),
         ("start", "ready_ns", "started_ns"), ("program", "started_ns", "exited_ns"),
         ("collect", "exited_ns", "collected_ns"), ("end", "collected_ns", "cleaned_ns"),
         ("all", None, "cleaned_ns")]


def spans(phases):
    """"boot 2600 ms, ..." of the phases that were reached."""
    shown = []
    for name, first, last in SPANS:
        begin = phases.get(first) if first else 0
        end = phases.get(last)
        if begin is not None and end is not None:
            shown.append(f"{name} {(end - begin) / 1e6:.0f} ms")
    return ", ".join(shown)


def main():
    text = sys.stdin.read()
    if not text.strip():
        return  # airlock said on stderr what was wrong
    result = json.loads(text)
    for stream in ("stdout", "stderr"):
        if result[stream]["encoding"] == "utf8":
            for line in result[stream]["data"].splitlines():
                print(f"   {stream}: {line}")
    for output in result["outputs"]:
        print(f"-- {output['name']}: {output['bytes']} bytes, sha256 {output['sha256'][:16]}...")
        path = os.path.join(sys.argv[1], output["name"])
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as lines:
                for _, line in zip(range(HEAD_LINES), lines):
                    print("   " + line.rstrip("\n")[:100])
    print(f"-- verdict: {result['verdict']} ({result['message']})")
    machine = result["machine"]
    print(f"   machine {machine['id']}, engine {machine['engine']}, isolation {machine['isolation']}")
    print(f"   time: {spans(result['phases'])}")


main()
