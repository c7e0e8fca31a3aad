// differential: {}
const inspector = require('inspector');
console.log(inspector.url(), process.report.directory, process.report.signal, process.report.reportOnSignal, process.report.compact);
const report = process.report.getReport();
console.log(Object.keys(report), report.header.commandLine, report.header.cwd, report.header.event, report.header.trigger, report.javascriptStack);
console.log(report.environmentVariables, report.userLimits, report.header.threadId, report.libuv.map((h) => h.type).sort());
const session = new inspector.Session();
session.connect();
session.post('Runtime.evaluate', { expression: '1 + 1' }, (e, r) => console.log(e, r.result.value));
