// airlock-case: {"expect":"timeout","which":"cpu","stdout":"starving\n","limits":{"cpu_s":1,"wall_s":60},"note":"microtasks that only queue the next microtask: a timer of the same loop never strikes"}
setTimeout(() => {
  console.log("timed out by itself");
  process.exit(0);
}, 1);
console.log("starving");
queueMicrotask(function again() {
  queueMicrotask(again);
});
