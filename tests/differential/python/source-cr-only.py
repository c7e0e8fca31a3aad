# differential: {"program": "print('one')\rprint('two')\rprint(open(__file__, newline='').read().count('\\r'))\r"}
