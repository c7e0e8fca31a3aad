// differential: {"program": "console.log('\u00ff\u00fe', '\u00c3\u00a9', '\u0000'.length);\u00e2\u0080\u00a8console.log('after a line separator')\n// last line, no newline"}
