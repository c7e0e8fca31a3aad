// airlock-case: {"expect":"output_overflow","which":"stdout","out_bytes":65536,"limits":{"out_kib":64},"note":"one byte more is an overflow even if the program ended with 0 long since"}
process.stdout.write("x".repeat(65536));
process.stdout.write("x");
