// differential: {}
process.on('unhandledRejection', (reason, promise) => console.log('unhandled', reason.message, promise));
process.on('rejectionHandled', () => console.log('handled after all'));
process.on('warning', (w) => console.log('warning', w.name, w.message));
const p = Promise.reject(new Error('late'));
setTimeout(() => p.catch(() => console.log('caught')), 20);
