// airlock-case: {"expect": "success", "has": "linked", "outputs": {"one": 1000, "sub": null, "sub/three": 1000, "two": 1000}, "dropped": 0, "note": "a file with several names arrives as so many copies, each counted"}
const fs = require('fs');
fs.writeFileSync('/out/one', '1'.repeat(1000));
fs.mkdirSync('/out/sub');
fs.linkSync('/out/one', '/out/two');
fs.linkSync('/out/one', '/out/sub/three');
console.log('linked', fs.statSync('/out/one').nlink);
