// differential: {"verdict": "user_exception", "exit": 1}
process.nextTick(() => {
    undefinedFunction();
});
