// airlock-case: {"expect":"success","stdout":"2 files\n","in":{"a.txt":"first","b.txt":"second"},"outputs":{"copies/A.TXT":5,"copies/B.TXT":6,"index.json":17},"note":"control: every input arrives, every output is exported, in a directory too"}
const fs = require("fs");

fs.mkdirSync("/out/copies");
const inputs = fs.readdirSync("/in").sort();
for (const name of inputs) {
  const text = fs.readFileSync(`/in/${name}`, "utf8");
  fs.writeFileSync(`/out/copies/${name.toUpperCase()}`, text.toUpperCase());
}
fs.writeFileSync("/out/index.json", JSON.stringify(inputs));
console.log(inputs.length, "files");
