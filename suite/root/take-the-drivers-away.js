// airlock-case: {"expect": "sandbox_failure", "has": "unbinding", "never": "STILL HERE", "root": true, "note": "channel, disks and console lose their drivers one after the other; the agent cannot report, and no report is no success"}
if (require("os").hostname() !== "airlock") throw new Error("only inside airlock");
const fs = require('fs');
fs.writeSync(1, 'unbinding\n');
setTimeout(() => {
  const at = '/sys/bus/virtio/drivers/virtio_console';
  for (const device of fs.readdirSync(at)) {
    if (fs.existsSync(`${at}/${device}/driver`)) fs.writeFileSync(at + '/unbind', device);
  }
  setTimeout(() => console.log('STILL HERE'), 60000);
}, 500);
