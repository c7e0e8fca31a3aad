// differential: {"verdict": "user_exception", "exit": 1}
console.error('to stderr');
throw { not: 'an error', list: [undefined, null, Symbol('s')] };
