// airlock-case: {"expect": "success", "has": "all say 2", "limits": {"vcpus": 2}, "note": "every way to count processors gives what the job was given, or thread pools are sized for the host"}
const fs = require('fs');
const os = require('os');
const { execFileSync } = require('child_process');
const counts = [os.cpus().length, Number(execFileSync('/usr/bin/nproc')), fs.readFileSync('/proc/cpuinfo', 'utf8').split('processor\t:').length - 1,
  fs.readFileSync('/proc/stat', 'utf8').match(/^cpu\d/gm).length];
console.log(counts.join(), counts.every((n) => n === 2) ? 'all say 2' : 'DISAGREE');
