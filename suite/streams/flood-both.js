// airlock-case: {"expect":"output_overflow","limits":{"out_kib":64,"err_kib":64},"note":"both streams by turns; whoever reads one to its end before the other hangs"}
for (;;) {
  console.log("flood ".repeat(500));
  console.error("flood ".repeat(500));
}
