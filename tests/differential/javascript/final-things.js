// differential: {}
const registry = new FinalizationRegistry(() => console.log('never promised'));
registry.register({}, 1);
const events = require('events');
events.once(process, 'exit').then(() => console.log('never, microtasks are over'));
process.once('exit', () => {
    process.nextTick(() => console.log('never'));
    require('fs').writeSync(1, 'written in exit\n');
});
const e = new events();
e.on('error', (x) => console.log('error event', x));
e.emit('error', 1);
process.once('beforeExit', () => console.log('before exit', process._exiting));
