// airlock-case: {"expect":"user_exception","exit":1,"stdout":"before\n","err":"Error: nobody","note":"a promise that nobody looks at rejects: an error, not a silent success","source":"https://github.com/Unitech/pm2/issues/5994"}
console.log("before");
setTimeout(() => console.log("never reached"), 60000);
Promise.reject(new Error("nobody"));
