// differential: {"known": "the pool of small Buffers has another offset"}
const { Blob, File, transcode } = require('buffer');
const a = Buffer.from('a');
const b = Buffer.from('b');
console.log(a.buffer === b.buffer, a.byteOffset, b.byteOffset, a.buffer.byteLength, Buffer.allocUnsafe(10).byteOffset, Buffer.alloc(5).buffer.byteLength);
console.log(Buffer.from('zz+/', 'base64'), Buffer.from('é').toString('latin1'), Buffer.concat([a, b]).readUInt16BE(), typeof File);
console.log(transcode(Buffer.from('€'), 'utf8', 'ucs2'), new Blob(['x']).size, atob('aGk='), new TextDecoder('utf-16le').encoding);
console.log(structuredClone({ d: new Date(0), m: new Map([[1, /x/g]]) }), Buffer.from([1, 2, 3]).swap16 !== undefined);
