// airlock-case: {"expect": "success", "has": "named", "note": "names are bytes in Linux; what is not UTF-8 must neither break the result nor be cut short or merged"}
const fs = require('fs');
const names = ['fffe', 'c328', '6c6174696e2dfc', 'eda080', 'f5808080', 'c0aec0ae', '6375742de282'];
for (const name of names) fs.writeFileSync(Buffer.concat([Buffer.from('/out/'), Buffer.from(name, 'hex')]), '');
console.log('named', fs.readdirSync('/out', { encoding: 'buffer' }).length);
