// airlock-case: {"expect": "success", "has": "powerless", "note": "all five capability sets are empty and no privilege can be gained by exec, in the program and in its children"}
const fs = require('fs');
const { execFileSync } = require('child_process');
const text = fs.readFileSync('/proc/self/status', 'utf8') + execFileSync('/usr/bin/cat', ['/proc/self/status']);
const lines = text.split('\n').filter((line) => /^(Cap|NoNewPrivs)/.test(line)).map((line) => line.split(/\s+/));
console.log(lines.join(' '));
const good = lines.length === 12 && lines.every(([k, v]) => parseInt(v, 16) === (k === 'NoNewPrivs:' ? 1 : 0));
console.log(good ? 'powerless' : 'POWERS');
