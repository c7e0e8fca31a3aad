// differential: {}
const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3, 97, 100, 100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11]);
WebAssembly.instantiate(bytes).then(({ instance }) => console.log(instance.exports.add(40, 2)));
console.log(WebAssembly.validate(bytes), new WebAssembly.Memory({ initial: 1 }).buffer.byteLength);
WebAssembly.compile(bytes.slice(0, 12)).catch((e) => console.log(e.name, e.message));
