// differential: {}
console.log(Object.keys(process));
console.log(Object.getOwnPropertyNames(process).sort().join(' '));
console.log(process._preload_modules, process.eventNames(), process._events && Object.keys(process._events), process.domain);
console.log(process.listenerCount('exit'), process.getMaxListeners(), process._exiting, process._eval, process._print_eval);
