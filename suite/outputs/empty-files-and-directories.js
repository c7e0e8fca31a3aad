// airlock-case: {"expect": "success", "has": "empty", "outputs": {"a": null, "a/b": null, "a/b/c": null, "none": 0}, "dropped": 0, "note": "what is empty is an output as well"}
const fs = require('fs');
fs.mkdirSync('/out/a/b/c', { recursive: true });
fs.writeFileSync('/out/none', '');
console.log('empty');
