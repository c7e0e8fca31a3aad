// airlock-case: {"expect":"timeout","which":"wall","never":"never reached","limits":{"wall_s":1,"cpu_s":60},"note":"the main thread waits for a word in shared memory that nobody will ever change"}
const lock = new Int32Array(new SharedArrayBuffer(4));

function take() {
  while (Atomics.compareExchange(lock, 0, 0, 1) !== 0) Atomics.wait(lock, 0, 1);
}

take();
console.log("taken once");
take();
console.log("never reached");
