"""What README.md promises a new user: options, defaults, exit codes, its example and its result."""
import json
import re

from harness import AIRLOCK, EXIT_CODES, ROOT, case

# Their default is told in words: by the file, by the language.
IN_WORDS = {"--in", "--image"}
OPTION = re.compile(r"--[a-z][a-z-]*")


def section(title):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return found.group(1) if found else ""


def rows(title):
    """The cells of the table in that section, without its head."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def readme_options():
    """{option: default}; one line of the table may tell several, with a default each."""
    told = {}
    for names, default, _ in rows("Options of `airlock run`"):
        options = OPTION.findall(names)
        defaults = default.removesuffix(" each").split(", ")
        if len(defaults) != len(options):
            defaults = [default.removesuffix(" each")] * len(options)
        told.update(zip(options, defaults))
    return told


def help_text(t):
    done = t.execute([AIRLOCK, "run", "--help"])
    t.equal(done.code, 0, "exit code of --help")
    return done.raw.decode("utf-8")


def help_options(text):
    """{option: default or None}"""
    parts = re.split(r"^  (?=--)", text.split("\nOptions:\n")[1].split("\n\n")[0], flags=re.M)[1:]
    told = {}
    for part in parts:
        default = re.search(r"\(default: ([^);]+)", part)
        told[OPTION.match(part).group()] = default.group(1) if default else None
    return told


@case("README.md's options of airlock run are those of --help, with the same defaults")
def options_and_defaults(t):
    told, printed = readme_options(), help_options(help_text(t))
    t.true(len(printed) > 20, f"--help was not understood: {printed}")
    t.equal(sorted(told), sorted(set(printed) - {"--help"}), "options")
    wrong = [f"{name}: {told[name]!r}, --help says {default!r}" for name, default in printed.items()
             if default is not None and name not in IN_WORDS and told[name].split(",")[0] != default]
    t.equal(wrong, [], "defaults")


@case("README.md's exit codes are those of --help and of the results")
def exit_codes(t):
    told = {verdict.strip("`"): int(code) for code, verdict, _ in rows("Verdicts and exit codes")}
    t.equal(told, EXIT_CODES, "exit codes")
    printed = re.search(r"^Exit codes: (.*?)\.$", help_text(t), re.M | re.S).group(1)
    pairs = {words.split()[-1]: int(words.split()[0]) for words in printed.replace("\n", " ").split(", ")}
    t.equal(pairs, EXIT_CODES, "exit codes of --help")


@case("README.md's example prints what it says, and its result has the fields shown")
def example(t):
    source = re.search(r"^\$ cat count\.py\n(.*?)\n\n", section("A job of your own"), re.M | re.S).group(1)
    words = " ".join(f"word{i}" for i in range(412))
    result = t.run(source, files={"text.txt": f"{words} word7 word7\n".encode()}, out=True)
    t.expect(result, "success", stdout=b"412 different words\n", stderr=b"")
    top = json.loads((result.out_dir / "top.json").read_text(encoding="ascii"))
    t.equal((len(top), top[0]), (10, ["word7", 3]), "what it counted")
    shown = json.loads(re.search(r"```json\n(.*?)```", section("The JSON result"), re.S).group(1))

    def missing(shown, got, at):
        for name in set(shown) - {"..."}:
            if name not in got:
                yield f"{at}{name}"
            elif isinstance(shown[name], dict):
                yield from missing(shown[name], got[name], f"{at}{name}.")

    t.equal(sorted(missing(shown, result.doc, "")), [], "fields that the result lacks")
    for name in ("outputs", "inputs", "events"):
        t.equal(sorted(missing(shown[name][0], result.doc[name][0], f"{name}.")), [], "fields that an item lacks")
