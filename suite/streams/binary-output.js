// airlock-case: {"expect":"success","out_bytes":2560,"note":"all byte values, most of it not UTF-8: nothing is replaced, cut or added"}
const bytes = Buffer.from(Array.from({ length: 2560 }, (_, i) => 255 - (i % 256)));
process.stdout.write(bytes);
