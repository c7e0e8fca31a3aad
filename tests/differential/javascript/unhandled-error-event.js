// differential: {"verdict": "user_exception", "exit": 1}
const Events = require('events');
new Events().emit('error', new Error('no listener'));
