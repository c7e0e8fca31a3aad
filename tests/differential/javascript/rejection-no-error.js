// differential: {"verdict": "user_exception", "exit": 1}
Promise.reject({ plain: 'object' });
