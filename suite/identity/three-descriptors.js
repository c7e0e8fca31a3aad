// airlock-case: {"expect": "success", "has": "nothing inherited", "note": "beside stdin, stdout and stderr no descriptor of the agent, of its channel or of a device is handed down"}
const fs = require('fs');
const held = [];
for (const fd of fs.readdirSync('/proc/self/fd')) {
  try { held.push(`${fd}=${fs.readlinkSync('/proc/self/fd/' + fd)}`); } catch (e) { /* the listing's own */ }
}
console.log(held.join(' '));
// What the runtime opens for itself: event queues, wake-up pipes, the null device.
const foreign = held.filter((h) => !/=(anon_inode:|pipe:|\/dev\/null)/.test(h) && !/^[012]=/.test(h));
console.log(foreign.length ? 'INHERITED ' + foreign.join(' ') : 'nothing inherited');
