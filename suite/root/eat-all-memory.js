// airlock-case: {"expect": "oom", "has": "eating", "limits": {"mem_mib": 128, "wall_s": 20}, "events": ["oom_kill"], "root": true, "note": "the guest's own memory limit is lifted; the fixed size of the machine is the end, long before the gigabyte that is asked for"}
if (require("os").hostname() !== "airlock") throw new Error("only inside airlock");
const fs = require('fs');
fs.writeSync(1, 'eating\n');
for (const [path, value] of [['/sys/fs/cgroup/job/memory.max', 'max'], ['/proc/sys/vm/overcommit_memory', '1'], ['/proc/sys/vm/min_free_kbytes', '16384']]) {
  fs.writeFileSync(path, value);
}
const kept = Buffer.alloc(2 ** 30, 'x');
fs.writeSync(1, `a gigabyte ${kept.length}\n`);
