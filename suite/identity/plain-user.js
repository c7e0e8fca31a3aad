// airlock-case: {"expect": "success", "has": "a plain user", "quick": true, "note": "the program runs as user 1000 in group 1000 without supplementary groups, under a name the image knows"}
const os = require('os');
const ids = [process.getuid(), process.geteuid(), process.getgid(), process.getegid()];
const me = os.userInfo();
console.log(ids, process.getgroups(), me.username, me.homedir, process.cwd());
const good = ids.every((id) => id === 1000) && process.getgroups().every((g) => g === 1000) && me.username === 'user' && process.cwd() === '/work';
console.log(good ? 'a plain user' : 'SOMEBODY ELSE');
