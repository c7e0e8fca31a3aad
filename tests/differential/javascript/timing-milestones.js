// differential: {}
// The milestones are those of this run: none is older than the process says it is.
const { performance, PerformanceObserver } = require('perf_hooks');
const n = performance.nodeTiming;
const order = ['nodeStart', 'v8Start', 'environment', 'bootstrapComplete'].map((k) => n[k]);
console.log(order.every((v, i) => i === 0 || v >= order[i - 1]), n.duration < 60000, n.startTime, n.name, n.loopExit);
console.log(performance.getEntries().length, performance.eventLoopUtilization(), PerformanceObserver.supportedEntryTypes);
console.log(performance.mark('m').startTime < 60000, performance.toJSON().timeOrigin === performance.timeOrigin);
