// differential: {"known": "process.moduleLoadList has what the waiting interpreter loaded"}
console.log(process.moduleLoadList.filter((m) => m.startsWith('NativeModule')).length > 0, process.moduleLoadList.length);
console.log(process.moduleLoadList.join('\n'));
