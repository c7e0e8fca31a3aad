// airlock-case: {"expect":"oom","has":"growing","never":["caught","cleanup"],"limits":{"mem_mib":96},"note":"small objects until the group is full: SIGKILL runs no handler, no finally and no exit event","source":"https://github.com/daytonaio/daytona/issues/4489"}
process.on("exit", () => console.log("cleanup"));
console.log("growing");
const heap = [];
try {
  for (let i = 0; ; i++) heap.push({ i, text: "x" + i });
} catch (e) {
  console.log("caught", e);
}
