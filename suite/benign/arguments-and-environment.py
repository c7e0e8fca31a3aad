# airlock-case: {"expect":"success","stdout":"['--flag', '', 'two words', '$HOME;`id`', 'ž']\nvalue=with=equals\n","args":["--flag","","two words","$HOME;`id`","ž"],"env":{"SETTING":"value=with=equals"},"note":"control: arguments and variables arrive as they are; no shell ever sees them"}
import os
import sys

print(sys.argv[1:])
print(os.environ["SETTING"])
