// differential: {}
const fs = require('fs');
for (const name of ['limits', 'cgroup', 'mountinfo', 'oom_score_adj', 'timerslack_ns', 'comm', 'coredump_filter', 'loginuid']) {
    let text = 'error';
    try {
        text = fs.readFileSync(`/proc/self/${name}`, 'utf8');
        // Mounts of a job come first or last, by when the namespace was made: docs/warm.md. Numbers of devices too.
        text = name === 'mountinfo' ? text.split('\n').map((l) => l.split(' ').slice(3).join(' ')).sort().join('\n') : text;
    } catch (error) {
        text = error.code;
    }
    console.log(name, text);
}
console.log(['exe', 'cwd', 'root'].map((n) => fs.readlinkSync(`/proc/self/${n}`)), fs.readdirSync('/proc').filter((n) => /^\d+$/.test(n)));
const stat = fs.readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
console.log(stat.slice(0, 7), stat.slice(15, 18), stat.slice(36, 39), fs.readdirSync('/proc/self/task').length);
console.log(fs.readdirSync('/work'), fs.readdirSync('/tmp'), fs.readdirSync('/in'), fs.readdirSync('/dev'));
