// differential: {"env": {"NODE_DEBUG": "timers", "NODE_NO_WARNINGS": "1"}, "fresh": "NODE_* changes the interpreter itself", "varies": [["\\d+", "N", "process ids and times"]]}
process.emitWarning('not shown');
setTimeout(() => console.log('timer'), 1);
