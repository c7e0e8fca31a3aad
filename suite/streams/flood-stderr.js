// airlock-case: {"expect":"output_overflow","which":"stderr","stdout":"first\n","limits":{"err_kib":32},"note":"the other stream needs a cap of its own","source":"https://github.com/UKGovernmentBEIS/inspect_ai/pull/781"}
console.log("first");
setTimeout(() => {
  for (;;) console.error("flood ".repeat(1000));
}, 300);
