// airlock-case: {"expect": "success", "has": "a small machine", "limits": {"mem_mib": 192}, "note": "the program sees a machine of its limit and a fixed margin, not the host's memory, and no swap"}
const fs = require('fs');
const os = require('os');
const total = os.totalmem() >> 20;
const swap = /SwapTotal: +(\d+)/.exec(fs.readFileSync('/proc/meminfo', 'utf8'))[1];
console.log(total, swap, total >= 192 && total <= 320 && swap === '0' ? 'a small machine' : 'ODD SIZE');
