// airlock-case: {"expect":"success","out_bytes":500000,"stdin_bytes":500000,"limits":{"out_kib":512},"note":"control: half a megabyte through the program, both directions at once"}
process.stdin.pipe(process.stdout);
