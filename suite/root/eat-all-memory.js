// airlock-case: {"expect": ["oom", "sandbox_failure", "user_exception"], "has": "eating", "limits": {"mem_mib": 128, "wall_s": 30}, "root": true, "note": "the guest's own memory limit is lifted and the program spared by its killer; the fixed size of the machine is the end"}
const fs = require('fs');
fs.writeSync(1, 'eating\n');
for (const [path, value] of [['/sys/fs/cgroup/job/memory.max', 'max'], ['/proc/self/oom_score_adj', '-1000'], ['/proc/sys/vm/overcommit_memory', '1']]) {
  fs.writeFileSync(path, value);
}
const kept = [];
for (;;) kept.push(Buffer.alloc(1 << 20, 'x'));
