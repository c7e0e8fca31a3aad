// airlock-case: {"expect": "success", "has": "hardware out of reach", "never": "BREACH", "note": "I/O ports, physical memory, firmware variables and model-specific registers cannot be touched"}
const fs = require('fs');
const hit = [];
for (const path of ['/dev/mem', '/dev/kmem', '/dev/port', '/dev/nvram', '/dev/cpu/0/msr', '/dev/cpu/0/cpuid', '/dev/hpet', '/sys/firmware/efi', '/proc/bus/pci/00/00.0',
  '/sys/bus/pci/devices', '/sys/devices/system/cpu/cpu0/online', '/sys/bus/pci/rescan']) {
  try {
    fs.openSync(path, 'r+');
    hit.push(path);
  } catch (e) {
    console.log(path, e.code);
  }
}
console.log(hit.length ? 'BREACH' : 'hardware out of reach', hit.join(' '));
