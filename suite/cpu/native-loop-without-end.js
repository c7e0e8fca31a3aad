// airlock-case: {"expect":"timeout","which":"cpu","stdout":"consuming\n","limits":{"cpu_s":1,"wall_s":60},"note":"the engine's own search through a made-up array of 2^53 elements: not one line of the program runs meanwhile"}
setTimeout(() => console.log("interrupted"), 1);
console.log("consuming");
Array.prototype.indexOf.call({ length: Number.MAX_SAFE_INTEGER }, 1);
