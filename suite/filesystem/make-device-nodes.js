// airlock-case: {"expect": "success", "has": "no device made", "never": "BREACH", "note": "nodes for disks, memory and consoles cannot be made anywhere, on scratch or in /dev"}
const { spawnSync } = require('child_process');
const hit = [];
for (const where of ['/work', '/tmp', '/dev', '/dev/shm', '/out']) {
  for (const [kind, major, minor] of [['b', 254, 0], ['c', 1, 1], ['c', 4, 64], ['c', 1, 3]]) {
    const done = spawnSync('/usr/bin/mknod', [`${where}/node-${major}-${minor}`, kind, major, minor].map(String));
    if (done.status !== 1) hit.push(`${where} ${major} ${minor} ${done.status}`);
    console.log(where, major, minor, String(done.stderr).trim().split(': ').pop());
  }
}
console.log(hit.length ? 'BREACH' : 'no device made', hit.join(' '));
