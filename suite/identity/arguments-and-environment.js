// airlock-case: {"expect": "success", "stdout": "EMPTY=\nGIVEN=grün = 1\nHOME=/work\nLANG=C.UTF-8\nOUT=/out\nPATH=/usr/local/bin:/usr/bin:/bin\n", "args": ["", "two words", "quo\"te's", "$HOME `id` $(id)", "-c", "--help", "zwölf", "line\nend", "*", "\\n"], "env": {"GIVEN": "grün = 1", "EMPTY": ""}, "note": "the environment is what the caller gave and four fixed names, nothing of the caller's own; arguments pass no shell and arrive as given"}
const fs = require('fs');
const block = fs.readFileSync('/proc/self/environ', 'utf8');
const want = ['', 'two words', 'quo"te\'s', '$HOME `id` $(id)', '-c', '--help', 'zw\u00f6lf', 'line\nend', '*', '\\n'];
if (JSON.stringify(process.argv.slice(2)) !== JSON.stringify(want)) throw new Error(`changed: ${JSON.stringify(process.argv)}`);
process.stdout.write(block.split('\0').slice(0, -1).sort().map((entry) => entry + '\n').join(''));
