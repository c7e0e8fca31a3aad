// airlock-case: {"expect": "success", "has": "still user 1000", "never": "BREACH", "note": "every call that changes user or group identity is refused"}
const hit = [];
const tries = {
  setuid: () => process.setuid(0), setgid: () => process.setgid(0), seteuid: () => process.seteuid(0), setegid: () => process.setegid(0),
  setgroups: () => process.setgroups([0]), initgroups: () => process.initgroups('root', 0), other: () => process.setuid(65534),
};
for (const [name, action] of Object.entries(tries)) {
  try {
    action();
    hit.push(name);
  } catch (e) {
    console.log(name, e.code);
  }
}
console.log(hit.length || process.getuid() !== 1000 ? 'BREACH' : 'still user 1000', hit.join(' '));
