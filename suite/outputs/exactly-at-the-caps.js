// airlock-case: {"expect": "success", "has": "at the caps", "limits": {"out_total_kib": 64, "out_files": 4, "out_depth": 3}, "outputs": {"a/b/full": 32768, "rest": 32768}, "dropped": 0, "note": "bytes, entries and depth exactly at their caps are a success: a cap that strikes early is wrong too"}
const fs = require('fs');
fs.mkdirSync('/out/a/b', { recursive: true });
for (const path of ['/out/a/b/full', '/out/rest']) fs.writeFileSync(path, 'x'.repeat(32768));
console.log('at the caps');
