// airlock-case: {"expect":"success","stdout":"RangeError\nRangeError\n","limits":{"mem_mib":128},"note":"an allocation that no machine could hold is refused at once; nothing is killed for it"}
for (const size of [2 ** 45, Number.MAX_SAFE_INTEGER]) {
  try {
    console.log(new ArrayBuffer(size).byteLength);
  } catch (e) {
    console.log(e.name);
  }
}
