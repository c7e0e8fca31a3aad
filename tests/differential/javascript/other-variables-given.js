// differential: {"env": {"PATH": "/in:/usr/bin", "HOME": "/tmp", "FORCE_COLOR": "1", "NO_COLOR": "", "DEBUG": "*"}}
console.log(process.env, require('os').homedir(), require('module').globalPaths, process.stdout.hasColors, [1, 'a']);
