// differential: {"program": "\u00ef\u00bb\u00bfconsole.log('bom', __filename);\r\nthrow new Error('crlf');\r\n", "verdict": "user_exception", "exit": 1}
