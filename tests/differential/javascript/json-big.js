// differential: {}
const rows = Array.from({ length: 3000 }, (_, i) => ({ id: i, name: `n${i}`, tags: ['x', String(i % 7)], v: i / 3 }));
const text = JSON.stringify(rows);
const again = JSON.parse(text, (k, v) => (k === 'v' ? Math.round(v) : v));
console.log(text.length, again.reduce((s, r) => s + r.v, 0), JSON.stringify(again.slice(-1)), JSON.stringify('\ud800\u2028'));
try {
    JSON.parse('{"a": 1,}');
} catch (e) {
    console.log(e.message);
}
