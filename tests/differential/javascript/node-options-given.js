// differential: {"env": {"NODE_OPTIONS": "--max-old-space-size=60 --no-deprecation --stack-trace-limit=2"}, "fresh": "NODE_* changes the interpreter itself"}
console.log(process.execArgv, process.noDeprecation, Error.stackTraceLimit, require('v8').getHeapStatistics().heap_size_limit >> 20, process.env.NODE_OPTIONS);
