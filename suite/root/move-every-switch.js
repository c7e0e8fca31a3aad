// airlock-case: {"expect": "success", "has": "switches moved", "root": true, "note": "the switches and the clock of the guest's kernel are its own: caches dropped, protections off, decades forward and back, and the job still ends in order"}
if (require("os").hostname() !== "airlock") throw new Error("only inside airlock");
const fs = require('fs');
const { execFileSync } = require('child_process');
let moved = 0;
for (const [name, value] of [['vm/drop_caches', '3'], ['vm/overcommit_memory', '1'], ['vm/swappiness', '0'], ['kernel/sysrq', '1'], ['kernel/kptr_restrict', '0'],
  ['kernel/dmesg_restrict', '0'], ['kernel/perf_event_paranoid', '-1'], ['kernel/randomize_va_space', '0'], ['kernel/printk', '8 8 8 8'], ['kernel/panic', '0'],
  ['kernel/panic_on_oops', '0'], ['user/max_user_namespaces', '1000'], ['fs/protected_symlinks', '0'], ['net/ipv4/ip_forward', '1'], ['vm/compact_memory', '1']]) {
  try {
    fs.writeFileSync('/proc/sys/' + name, value);
    moved++;
  } catch (e) {
    console.log(name, e.code);
  }
}
for (const year of [2000, 2060, 1980, 2030]) execFileSync('/usr/bin/date', ['-s', `${year}-06-01`]);
console.log('switches moved', moved > 8, new Date().getUTCFullYear());
