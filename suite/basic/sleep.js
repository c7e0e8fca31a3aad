// airlock-case: {"expect": "timeout", "which": "wall", "stdout": "before", "limits": {"wall_s": 2}, "events": "wall_limit", "note": "a sleeping program uses no CPU; what it wrote comes back"}
process.stdout.write("before");
setTimeout(() => {}, 3600 * 1000);
