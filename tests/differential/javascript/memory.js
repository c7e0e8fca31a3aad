// differential: {}
const v8 = require('v8');
const s = v8.getHeapStatistics();
console.log(s.heap_size_limit, s.number_of_native_contexts, s.number_of_detached_contexts, s.does_zap_garbage, Object.keys(s));
console.log(v8.getHeapSpaceStatistics().map((h) => h.space_name), Object.keys(process.memoryUsage()), process.memoryUsage.rss() > 0);
console.log(process.constrainedMemory && process.constrainedMemory(), require('buffer').constants, Buffer.poolSize, v8.cachedDataVersionTag());
