// differential: {"verdict": "user_exception", "exit": 2, "has": "line 0 "}
for (let i = 0; i < 9000; i++) {
    console.log('line', i, '.'.repeat(70));
}
console.error('and an end');
process.exit(2);
