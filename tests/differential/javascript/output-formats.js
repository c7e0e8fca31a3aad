// differential: {}
console.table([{ a: 1, b: 'x' }, { a: 2, c: null }]);
console.group('group');
console.info('%s %d %i %f %j %o %O %c%%', 'text', 4.5, 4.5, 4.5, { j: 1 }, [1], { deep: { er: { than: { two: 1 } } } }, 'css');
console.groupEnd();
console.count();
console.count('named');
console.assert(false, 'assertion %s', 'text');
console.dir({ m: new Map([[1, new Set([2])]]), d: new Date(0), r: /x/g, f() {}, s: Symbol('s'), b: 10n, p: Promise.resolve(1), e: new Error('x').message }, { depth: 0 });
console.log([undefined, null, NaN, -0, [, 1], new Uint8Array(3), Buffer.from('hi'), class A {}, new (class B { x = 1; })(), new Proxy({}, {}), globalThis === global]);
console.timeEnd('none');
console.log('%s', '\ud800 lone', 'é', '\u0007');
