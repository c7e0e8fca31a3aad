// airlock-case: {"expect": "success", "has": "nothing loaded", "never": "BREACH", "note": "loading and unloading kernel code, directly or by making the kernel call its helper, is refused"}
const fs = require('fs');
const { spawnSync } = require('child_process');
const hit = [];
for (const path of ['/proc/sys/kernel/modprobe', '/proc/sys/kernel/hotplug', '/proc/sys/kernel/usermodehelper/bset', '/proc/sys/kernel/kexec_load_disabled']) {
  try {
    fs.writeFileSync(path, '/work/main.js');
    hit.push(path);
  } catch (e) {
    console.log(path, e.code);
  }
}
fs.writeFileSync('/work/odd', Buffer.from('deadbeef'.repeat(8), 'hex'));
fs.chmodSync('/work/odd', 0o755);
const done = spawnSync('/work/odd'); // an unknown format makes the kernel ask its helper for binfmt-XXXX
console.log('odd format', done.error && done.error.code);
for (const tool of ['modprobe', 'insmod', 'rmmod', 'kexec']) if (!spawnSync(tool).error) hit.push(tool);
console.log(hit.length ? 'BREACH' : 'nothing loaded', hit.join(' '));
