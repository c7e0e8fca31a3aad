# airlock-case: {"expect": "success", "has": "ten as given", "args": ["", "two words", "quo\"te's", "$HOME `id` $(id)", "-c", "--help", "zwölf", "line\nend", "*", "\\n"], "note": "arguments pass no shell: blanks, quotes, globs, line ends and empty ones arrive as given"}
import sys

want = ["", "two words", "quo\"te's", "$HOME `id` $(id)", "-c", "--help", "zw\u00f6lf", "line\nend", "*", "\\n"]
print("ten as given" if sys.argv[1:] == want else f"CHANGED {sys.argv}")
