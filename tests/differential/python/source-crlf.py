# differential: {"program": "text = '''a\r\nb'''\r\nprint(repr(text))\r\n\r\ndef f():\r\n    raise ValueError(text)\r\n\r\nf()\r\n", "verdict": "user_exception", "exit": 1}
