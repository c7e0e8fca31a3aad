// airlock-case: {"expect":"success","out_bytes":65536,"limits":{"out_kib":64},"note":"a cap of n bytes lets n bytes through"}
process.stdout.write("x".repeat(65536));
