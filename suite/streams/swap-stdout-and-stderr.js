// airlock-case: {"expect":"success","stdout":"to stderr\nby path\n","err":"to stdout","note":"what counts is the pipe that the bytes went into, not the number that a process uses for it"}
const fs = require("fs");
const { spawnSync } = require("child_process");

spawnSync("sh", ["-c", "echo to stdout; echo to stderr >&2"], { stdio: ["ignore", 2, 1] });
fs.writeFileSync("/proc/self/fd/1", "by path\n");
