// differential: {}
console.log(process.argv, process.argv.length, process.execArgv);
