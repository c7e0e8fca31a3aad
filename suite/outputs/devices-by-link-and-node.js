// airlock-case: {"expect": "success", "has": "no node", "outputs": {}, "dropped": 5, "note": "device nodes cannot be made among the outputs; links to devices are dropped, so nothing endless is read"}
const fs = require('fs');
const { spawnSync } = require('child_process');
for (const name of ['zero', 'random', 'full', 'tty', 'stdin']) fs.symlinkSync('/dev/' + name, '/out/' + name);
let made = 0;
for (const kind of ['c', 'b']) made += spawnSync('/usr/bin/mknod', ['/out/node', kind, '1', '5']).status === 0;
console.log(made ? 'BREACH' : 'no node');
