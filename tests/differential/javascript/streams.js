// differential: {}
const { pipeline, Readable, Transform } = require('stream');
const { pipeline: later } = require('stream/promises');
const upper = new Transform({ transform: (c, e, done) => done(null, c.toString().toUpperCase()) });
pipeline(Readable.from(['a', 'b', 'c']), upper, async function* (source) {
    for await (const c of source) {
        yield `${c}!`;
    }
}, process.stdout, (e) => console.error('done', e && e.message));
later(Readable.from([1]), new Transform({ transform: (c, e, done) => done(new Error('broken')), objectMode: true })).catch((e) => console.error(e.message));
