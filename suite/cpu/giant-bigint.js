// airlock-case: {"expect":"timeout","which":"cpu","stdout":"computing\n","limits":{"cpu_s":1,"wall_s":60},"note":"one operation on a number of megabytes, inside the interpreter's own code"}
console.log("computing");
const number = (1n << 60_000_000n) - 1n;
console.log(number.toString().length);
