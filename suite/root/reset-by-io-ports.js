// airlock-case: {"expect": ["sandbox_failure", "success"], "has": "poking", "limits": {"wall_s": 10}, "root": true, "note": "the classic reset, power and debug ports of a PC are written; a machine that resets is over, one that lacks them goes on"}
const fs = require('fs');
fs.writeSync(1, 'poking\n');
setTimeout(() => {
  const fd = fs.openSync('/dev/port', 'r+');
  for (const [port, value] of [[0xf4, '00'], [0x501, '00'], [0x64, 'fe'], [0xcf9, '06'], [0x92, '01'], [0xb004, '0020'], [0x604, '0020'], [0x600, '34']]) {
    const data = Buffer.from(value, 'hex');
    fs.writeSync(fd, data, 0, data.length, port);
  }
  setTimeout(() => console.log('no such port'), 1000);
}, 500);
