// airlock-case: {"expect": "success", "has": "init goes on", "never": "BREACH", "note": "init would reboot or halt on some signals; the process above the program takes none from it"}
const os = require('os');
const hit = [];
for (const sig of Object.keys(os.constants.signals)) {
  try {
    process.kill(1, sig);
    hit.push(sig);
  } catch (e) { /* refused */ }
}
console.log(hit.length ? 'BREACH' : 'init goes on', hit.join(' '), process.ppid);
