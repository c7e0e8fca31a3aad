// differential: {}
console.log(Object.getOwnPropertyNames(globalThis).join(' '));
console.log(Object.keys(globalThis), Reflect.ownKeys(globalThis).filter((k) => typeof k === 'symbol').map(String));
for (const name of Object.getOwnPropertyNames(globalThis)) {
    const d = Object.getOwnPropertyDescriptor(globalThis, name);
    console.log(name, d.enumerable, d.configurable, d.writable, typeof d.get, 'value' in d ? typeof d.value : '');
}
