// airlock-case: {"expect": "success", "has": "ENAMETOOLONG", "limits": {"out_depth": 20}, "dropped": 0, "note": "a name of 255 bytes and a path of 4000 arrive; one byte more than a name may have is refused inside"}
const fs = require('fs');
fs.writeFileSync('/out/' + 'n'.repeat(255), 'x');
process.chdir('/out');
for (let i = 0; i < 15; i++) {
  fs.mkdirSync('d'.repeat(255));
  process.chdir('d'.repeat(255));
}
fs.writeFileSync('f'.repeat(100), 'x');
try {
  fs.writeFileSync('/out/' + 'n'.repeat(256), 'x');
} catch (e) {
  console.log(e.code);
}
