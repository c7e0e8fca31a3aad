// airlock-case: {"expect":"success","stdout":"{\"ada\":5,\"bob\":2}\n","stdin":"[{\"who\":\"ada\",\"n\":2},{\"who\":\"bob\",\"n\":2},{\"who\":\"ada\",\"n\":3}]","note":"control: the kind of work that sandboxes are for"}
const totals = {};
for (const { who, n } of JSON.parse(require("fs").readFileSync(0, "utf8"))) {
  totals[who] = (totals[who] ?? 0) + n;
}
console.log(JSON.stringify(totals));
