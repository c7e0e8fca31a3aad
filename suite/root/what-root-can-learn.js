// airlock-case: {"expect": "success", "has": "nothing of the host", "never": "TOLD", "root": true, "note": "even root of the guest finds no name, path, user, key or environment of the host in its kernel, agent, firmware and devices"}
const fs = require('fs');
let seen = '';
const add = (path) => { try { seen += fs.readFileSync(path, 'latin1'); } catch (e) { /* not there */ } };
for (const path of ['/proc/1/environ', '/proc/1/cmdline', '/proc/1/mountinfo', '/proc/cmdline', '/proc/mounts', '/proc/keys', '/proc/iomem']) add(path);
for (const dir of ['/sys/class/dmi/id', '/sys/firmware/dmi/tables']) {
  if (fs.existsSync(dir)) for (const name of fs.readdirSync(dir)) add(`${dir}/${name}`);
}
const bad = seen.match(/\/home\/\w+|\/work\/\w+-|\/tmp\/\w+|airlock-sup|\/slots|\/objects|token|secret|password|BEGIN [A-Z ]*KEY|HOSTNAME=|USER=/gi);
console.log(bad ? 'TOLD ' + bad.join() : 'nothing of the host', seen.length > 1000);
