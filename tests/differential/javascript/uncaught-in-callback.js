// differential: {"verdict": "user_exception", "exit": 1}
require('fs').readFile('/none', (error) => {
    throw error;
});
