// airlock-case: {"expect":"timeout","which":"cpu","stdout":"computing\n","limits":{"cpu_s":8,"wall_s":60},"note":"one operation on a number of megabytes, inside the interpreter's own code"}
console.log("computing");
const number = (1n << 500_000_000n) - 1n;
console.log((number * number) % 97n);
