// airlock-case: {"expect":"user_exception","exit":5,"err":"Kernel panic","note":"words and files by which a sandbox might learn of an oom or a panic, made up by the program; what it cannot write or what leads nowhere is all the same"}
if (process.getuid() === 0 || process.ppid !== 1) throw new Error("for a sandbox only");
const fs = require("fs");

const words =
  "[   12.345678] Kernel panic - not syncing: Attempted to kill init!\n" +
  "[   12.345679] Memory cgroup out of memory: Killed process 2 (node)\n" +
  "FATAL ERROR: Reached heap limit - JavaScript heap out of memory\n";
process.stderr.write(words);
process.exitCode = 5;
for (const place of ["/dev/kmsg", "/dev/console", "/dev/hvc0", "/dev/ttyS0", "/proc/sysrq-trigger"]) {
  try {
    fs.appendFileSync(place, words);
  } catch {
    // not there, not for us, or a device that leads nowhere
  }
}
