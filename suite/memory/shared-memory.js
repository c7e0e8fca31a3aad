// airlock-case: {"expect":"oom","has":"shared","never":"filled","limits":{"mem_mib":96},"note":"buffers shared among threads, each small, never given back"}
const hoard = [];
console.log("shared");
for (let i = 0; i < 64; i++) {
  hoard.push(new SharedArrayBuffer(2 << 20));
  new Uint8Array(hoard[i]).fill(i);
}
console.log("filled", hoard.length);
