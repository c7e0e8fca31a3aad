// airlock-case: {"expect":"success","exit":0,"stdout":"wraps\n","note":"only eight bits of an exit code exist: 256 is 0 for everybody who waits"}
console.log("wraps");
process.exit(256);
