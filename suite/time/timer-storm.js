// airlock-case: {"expect":"timeout","which":"cpu","has":"storm","limits":{"cpu_s":1,"wall_s":60},"note":"a thousand timers that start themselves again keep the event loop busy without a loop in the program"}
function again() {
  setImmediate(again);
  setTimeout(() => {}, 1);
}

for (let i = 0; i < 1000; i++) setTimeout(again, 1);
console.log("storm");
