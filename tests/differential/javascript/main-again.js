// differential: {}
if (!globalThis.rounds) {
    globalThis.rounds = 1;
    console.log('first', module.id, require.main === module);
    delete require.cache[__filename];
    require('./main.js');
} else {
    console.log('again', module.id, require.main === module, module.parent.id, new Error('s').stack);
}
