// differential: {}
process.stdin.on('data', (d) => console.log('data', d));
process.stdin.on('end', () => console.log('ended', process.stdin.destroyed));
process.stdin.on('close', () => console.log('closed'));
