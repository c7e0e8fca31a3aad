// differential: {}
console.log(__filename, require.main === module, process.argv, module.id);
import('./main.cjs').then((m) => console.log(Object.keys(m), m.default === module.exports));
exports.value = 5;
