// airlock-case: {"expect": "success", "has": "clock moved", "root": true, "note": "the guest's clock jumps by decades in both directions; limits and the times in the result are the host's"}
const { execFileSync } = require('child_process');
for (const year of [2000, 2060, 1980, 2030]) {
  execFileSync('/usr/bin/date', ['-s', `${year}-06-01`]);
  console.log(new Date().getUTCFullYear());
}
console.log('clock moved', new Date().getUTCFullYear());
