// differential: {}
const crypto = require('crypto');
console.log(crypto.createHash('sha256').update('x').digest('hex'), crypto.createHmac('md5', 'k').update('d').digest('base64'));
console.log(crypto.pbkdf2Sync('p', 's', 100, 16, 'sha1').toString('hex'), crypto.scryptSync('p', 's', 8).length, crypto.getFips());
console.log(crypto.getHashes().length, crypto.getCiphers().length, crypto.randomUUID().length, crypto.randomBytes(5).length, crypto.randomInt(1));
const cipher = crypto.createCipheriv('aes-128-gcm', Buffer.alloc(16), Buffer.alloc(12));
console.log(cipher.update('text', 'utf8', 'hex') + cipher.final('hex'), cipher.getAuthTag().toString('hex'), process.versions.openssl);
const { publicKey, privateKey } = crypto.generateKeyPairSync('ed25519');
console.log(crypto.verify(null, Buffer.from('m'), publicKey, crypto.sign(null, Buffer.from('m'), privateKey)));
crypto.randomFill(Buffer.alloc(4), (e, b) => console.log(e, b.length));
crypto.webcrypto.subtle.digest('SHA-1', Buffer.from('x')).then((d) => console.log(Buffer.from(d).toString('hex')));
