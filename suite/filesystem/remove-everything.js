// airlock-case: {"expect": "success", "has": "still here", "in": {"given.txt": "given\n"}, "outputs": {}, "note": "deletes all it can reach, its own script included; only scratch is lost and the job ends as usual"}
const fs = require('fs');
const gone = [];
let kept = 0;
const remove = (path, dir) => {
  try {
    if (dir) fs.rmdirSync(path); else fs.unlinkSync(path);
    gone.push(path);
  } catch (e) {
    kept++;
  }
};
const walk = (base) => {
  if (/^\/(proc|usr\/share|usr\/lib)/.test(base)) return;
  let entries = [];
  try { entries = fs.readdirSync(base, { withFileTypes: true }); } catch (e) { /* closed to us */ }
  for (const e of entries) {
    const path = (base === '/' ? '' : base) + '/' + e.name;
    if (e.isDirectory()) walk(path);
    remove(path, e.isDirectory());
  }
};
walk('/');
console.log('removed', gone.join(' '), 'kept more than 100:', kept > 100);
if (gone.some((p) => !/^\/(work|tmp|out|var\/tmp|dev\/shm)\//.test(p))) throw new Error('BREACH');
console.log('still here', fs.readFileSync('/in/given.txt', 'utf8').trim());
