// differential: {"verdict": "user_exception", "exit": 5}
process.on('exit', () => console.log('never'));
process.stdout.write('written\n');
process.reallyExit(5);
