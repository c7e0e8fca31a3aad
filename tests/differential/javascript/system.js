// differential: {}
const os = require('os');
console.log(os.hostname(), os.platform(), os.release(), os.type(), os.version(), os.arch(), os.endianness(), os.tmpdir(), os.homedir());
console.log(os.cpus().length, os.cpus()[0].model, Object.keys(os.networkInterfaces()), os.EOL, os.totalmem(), os.getPriority(), os.devNull);
console.log(os.uptime() > 0, os.freemem() > 0, os.loadavg().length);
try {
    console.log(os.userInfo());
} catch (error) {
    console.log(error.message);
}
