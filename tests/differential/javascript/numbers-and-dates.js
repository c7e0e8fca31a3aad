// differential: {}
console.log(0.1 + 0.2, (1e21).toString(), (255).toString(36), parseFloat('1e-7'), 2n ** 100n, Number.MAX_SAFE_INTEGER, -0 === 0, 1 / -0);
console.log(Math.hypot(3, 4), Math.sin(1), Math.cbrt(27), Math.fround(5.05), [10, 9, 1].sort(), [3, 1, 2].toString(), Date.UTC(2020, 1, 29));
console.log(new Date('2020-02-30').getTime(), new Date(2020, 0, 31).toISOString(), Date.parse('1 Jan 2000 UTC'), /(?<y>\d{4})/u.exec('in 1999').groups);
const weak = new WeakRef({});
console.log(typeof weak.deref(), typeof gc, new Intl.Segmenter('en', { granularity: 'word' }).segment('two words')[Symbol.iterator]().next().value.segment);
