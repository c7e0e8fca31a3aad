// differential: {"verdict": "user_exception", "exit": 1}
for (const [name, ...args] of [['setuid', 0], ['setgid', 0], ['initgroups', 'root', 0], ['kill', 1, 'SIGKILL'], ['chdir', '/root']]) {
    try {
        console.log(name, process[name](...args));
    } catch (e) {
        console.log(name, e.code, e.message);
    }
}
console.log(process.umask(0o77).toString(8), process.umask().toString(8));
require('fs').readFileSync('/etc/shadow');
