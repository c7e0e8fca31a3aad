// differential: {"varies": [["(pipe|socket):\\[\\d+\\]", "\\1:[N]", "inode numbers are counted by the kernel"]]}
const fs = require('fs');
for (const fd of fs.readdirSync('/proc/self/fd').map(Number).sort((a, b) => a - b)) {
    let to = 'gone';
    try {
        to = fs.readlinkSync(`/proc/self/fd/${fd}`);
    } catch (error) { }
    console.log(fd, to);
}
for (const fd of [0, 1, 2]) {
    const st = fs.fstatSync(fd);
    console.log(fd, st.mode.toString(8), st.uid, st.size, fs.readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8').split('\n')[1]);
}
console.log(fs.openSync('/dev/null'), fs.openSync('/dev/null'));
