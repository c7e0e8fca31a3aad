// differential: {"verdict": "user_exception", "exit": 1}
const fs = require('fs');
console.log(fs.readFileSync(__filename, 'utf8').length, fs.realpathSync('main.js'), fs.statSync('main.js').uid);
fs.unlinkSync('main.js');
process.chdir('/tmp');
console.log(process.cwd(), __dirname, require.main.filename);
require('./main.js') === module.exports && console.log('from the cache');
throw new Error('the source is gone');
