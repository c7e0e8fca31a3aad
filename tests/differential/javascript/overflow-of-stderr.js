// differential: {"verdict": "output_overflow", "options": ["--stderr", "4K"]}
const fs = require('fs');
for (;;) {
    fs.writeSync(2, '0123456789abcde\n');
}
