// airlock-case: {"expect": "success", "has": "still a candidate", "never": "BREACH", "note": "a program that lowers its own score would have the agent killed in its place"}
const fs = require('fs');
const { execFileSync } = require('child_process');
const read = () => Number(fs.readFileSync('/proc/self/oom_score_adj', 'utf8'));
const before = read();
for (const path of ['/proc/self/oom_score_adj', '/proc/self/oom_adj', '/proc/thread-self/oom_score_adj']) {
  for (const value of ['-1000', '0', '-17', String(before - 1)]) {
    try {
      fs.writeFileSync(path, value);
      console.log('BREACH', path, value);
    } catch (e) {
      console.log(path, value, e.code);
    }
  }
}
const child = Number(execFileSync('/usr/bin/cat', ['/proc/self/oom_score_adj']));
console.log(read() === before && before >= 500 && child >= before ? 'still a candidate' : 'BREACH', before);
