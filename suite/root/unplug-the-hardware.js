// airlock-case: {"expect": ["sandbox_failure", "timeout"], "has": "unplugging", "never": "STILL HERE", "limits": {"wall_s": 8}, "root": true, "note": "every device on the bus is removed and the bus scanned again, so the monitor sees its devices reset under way"}
const fs = require('fs');
fs.writeSync(1, 'unplugging\n');
setTimeout(() => {
  for (const device of fs.readdirSync('/sys/bus/pci/devices').sort().reverse()) {
    try { fs.writeFileSync(`/sys/bus/pci/devices/${device}/remove`, '1'); } catch (e) { /* gone already */ }
  }
  fs.writeFileSync('/sys/bus/pci/rescan', '1');
  setTimeout(() => console.log('STILL HERE'), 60000);
}, 500);
