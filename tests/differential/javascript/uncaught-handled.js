// differential: {"verdict": "user_exception", "exit": 4}
process.on('uncaughtExceptionMonitor', (e, origin) => console.log('monitor', e.message, origin));
process.on('uncaughtException', (e, origin) => {
    console.log('handled', e.stack, origin);
    process.exitCode = 4;
});
setImmediate(() => console.log('goes on'));
Promise.reject(new Error('rejected')).catch((e) => {
    throw new Error('again', { cause: e });
});
throw new RangeError('first');
