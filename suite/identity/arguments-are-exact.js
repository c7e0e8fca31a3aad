// airlock-case: {"expect": "success", "has": "ten as given", "args": ["", "two words", "quo\"te's", "$HOME `id` $(id)", "-c", "--help", "zwölf", "line\nend", "*", "\\n"], "note": "arguments pass no shell: blanks, quotes, globs, line ends and empty ones arrive as given"}
const want = ['', 'two words', 'quo"te\'s', '$HOME `id` $(id)', '-c', '--help', 'zw\u00f6lf', 'line\nend', '*', '\\n'];
const got = process.argv.slice(2);
console.log(JSON.stringify(got) === JSON.stringify(want) ? 'ten as given' : `CHANGED ${JSON.stringify(got)}`);
