// differential: {}
const vm = require('vm');
const context = vm.createContext({ x: 1, console });
console.log(vm.runInContext('x += 1; typeof process + typeof Math.random() + (this === globalThis)', context), context.x, vm.isContext(context));
console.log(vm.runInThisContext('typeof require + typeof globalThis.process', 'made.js'), vm.runInNewContext('[] instanceof Array', {}));
try {
    vm.runInContext('function f() {\n  throw new TypeError("inside");\n}\nf()', context, { filename: 'inner.js', lineOffset: 10 });
} catch (error) {
    console.log(error instanceof TypeError, error.stack);
}
try {
    vm.runInContext('for (;;);', context, { timeout: 50 });
} catch (error) {
    console.log(error.code);
}
try {
    new vm.Script('a b', { filename: 'bad.js' });
} catch (error) {
    console.log(error.stack);
}
console.log(eval('typeof module'), new Function('return typeof module')(), (0, eval)('typeof require'));
