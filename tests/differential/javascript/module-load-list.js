// differential: {}
console.log(process.moduleLoadList.filter((m) => m.startsWith('NativeModule')).length > 0, process.moduleLoadList.length);
console.log(process.moduleLoadList.join('\n'));
