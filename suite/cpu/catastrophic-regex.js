// airlock-case: {"expect":"timeout","which":"cpu","stdout":"matching\n","limits":{"cpu_s":1,"wall_s":60},"note":"one call of the regex engine that backtracks for years"}
console.log("matching");
console.log(/^(\w+\s?)+!$/.test("all work and no play makes a dull machine ".repeat(3)));
