// airlock-case: {"expect":"oom","has":"bomb","never":"unpacked","limits":{"mem_mib":112},"note":"a few kilobytes of input that become all memory in one library call"}
const zlib = require("zlib");

const finishFlush = zlib.constants.Z_FULL_FLUSH;
const megabyte = zlib.deflateRawSync(Buffer.alloc(1 << 20), { finishFlush });
const bomb = Buffer.concat(Array(300).fill(megabyte));
console.log("bomb", bomb.length);
console.log("unpacked", zlib.inflateRawSync(bomb, { finishFlush: zlib.constants.Z_SYNC_FLUSH }).length);
