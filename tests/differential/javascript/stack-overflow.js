// differential: {"verdict": "user_exception", "exit": 1}
function forever(n) {
    return forever(n + 1) + 1;
}
try {
    forever(0);
} catch (error) {
    console.log(error instanceof RangeError, error.message);
}
forever(0);
