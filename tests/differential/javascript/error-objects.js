// differential: {}
console.log(Error.stackTraceLimit, Error.prepareStackTrace, Error.captureStackTrace.name, process.sourceMapsEnabled);
function f(n) {
    return n ? f(n - 1) : new Error('deep');
}
console.log(f(20).stack);
Error.stackTraceLimit = 100;
console.log(f(2).stack);
console.log(new Error('top').stack);
Error.prepareStackTrace = (error, calls) => calls.map((c) => `${c.getFileName()}:${c.getLineNumber()}:${c.getColumnNumber()} ${c.getFunctionName()} ${c.isNative()} ${c.isToplevel()} ${c.getEvalOrigin()}`);
console.log(new Error('calls').stack);
console.log(eval('new Error("in eval")').stack);
