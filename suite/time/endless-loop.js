// airlock-case: {"expect":"timeout","which":"cpu","has":"spinning","limits":{"cpu_s":1,"wall_s":60},"note":"the plainest attack: burn CPU for ever; what was printed before must come back"}
console.log("spinning");
for (;;);
