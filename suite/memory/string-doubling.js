// airlock-case: {"expect":"user_exception","exit":1,"has":"268435456","err":"Invalid string length","limits":{"mem_mib":128},"note":"V8 joins strings lazily: half a gigabyte on paper, no memory in fact, and then its own limit on length"}
let text = "x";
for (;;) {
  text += text;
  console.log("doubled", text.length);
}
