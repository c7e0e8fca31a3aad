# differential: {}
import difflib
import html
import string
import textwrap
import unicodedata
import pprint

print(textwrap.fill("words " * 30, 40), html.escape("<&>"), unicodedata.name("\u00e9"), unicodedata.unidata_version)
print("\n".join(difflib.unified_diff(["a", "b"], ["a", "c"], lineterm="")), f"{1234.5:,.2f} {'x':^5} {0.1 + 0.2!r}")
pprint.pprint({"key" * 3: list(range(30)), "other": {"nested": "x" * 50}})
print(string.Template("$a").substitute(a=1), "%05.1f" % 3.14159, "{:>{w}}".format("r", w=4), "\N{SNOWMAN}")
