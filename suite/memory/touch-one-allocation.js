// airlock-case: {"expect":"oom","has":"allocated","never":"touched","limits":{"mem_mib":96},"note":"memory outside of the engine's heap, which its own heap limit does not count","source":"https://github.com/google/gvisor/issues/2520"}
const area = new ArrayBuffer(128 << 20);
console.log("allocated");
new Uint8Array(area).fill(1);
console.log("touched");
