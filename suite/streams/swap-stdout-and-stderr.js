// airlock-case: {"expect":"success","stdout":"to stderr\n","err":"to stdout","note":"what counts is the pipe that the bytes went into, not the number that a process uses for it"}
const { spawnSync } = require("child_process");

spawnSync("sh", ["-c", "echo to stdout; echo to stderr >&2"], { stdio: ["ignore", 2, 1] });
