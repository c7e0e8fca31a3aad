// differential: {"verdict": "user_exception", "exit": 1}
process.setSourceMapsEnabled(true);
console.log(process.sourceMapsEnabled);
eval('throw new Error("mapped")\n//# sourceURL=made-up.js');
