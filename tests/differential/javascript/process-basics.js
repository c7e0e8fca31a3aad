// differential: {"args": ["two words", "", "--flag=1", "é中", "--", "-"]}
const fs = require('fs');
console.log(process.argv, process.argv0, process.execArgv, process.execPath, process.title);
console.log(process.version, process.versions.v8, process.platform, process.arch, process.release.name, process.config.variables.node_shared);
console.log(process.cwd(), process.umask().toString(8), process.exitCode, process.debugPort, process.features);
console.log(fs.readFileSync('/proc/self/comm', 'utf8'));
console.log(process.getuid(), process.getgid(), process.geteuid(), process.getgroups(), process.pid, process.ppid);
console.log(process.allowedNodeEnvironmentFlags.size, process.noDeprecation, process.throwDeprecation, process.traceDeprecation);
