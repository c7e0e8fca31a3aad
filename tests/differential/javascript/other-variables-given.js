// differential: {"env": {"FORCE_COLOR": "1", "NO_COLOR": "", "DEBUG": "*", "OUT": "/tmp/else", "npm_x": "1"}}
console.log(process.env, require('os').homedir(), require('module').globalPaths, process.stdout.hasColors, [1, 'a']);
