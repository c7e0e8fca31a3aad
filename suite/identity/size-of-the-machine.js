// airlock-case: {"expect": "success", "has": "as given", "limits": {"vcpus": 2, "mem_mib": 192}, "note": "processors and memory as a runtime counts them are those of the job, not of the host, or pools and heaps grow too large"}
const fs = require('fs');
const os = require('os');
const { execFileSync } = require('child_process');
const counts = [os.cpus().length, Number(execFileSync('/usr/bin/nproc')), fs.readFileSync('/proc/cpuinfo', 'utf8').split('processor\t:').length - 1,
  fs.readFileSync('/proc/stat', 'utf8').match(/^cpu\d/gm).length];
const total = os.totalmem() >> 20;
console.log(counts.join(), total, counts.every((n) => n === 2) && total >= 192 && total <= 320 ? 'as given' : 'DIFFERENT');
