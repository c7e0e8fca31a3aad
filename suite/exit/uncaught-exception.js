// airlock-case: {"expect":"user_exception","exit":1,"stdout":"before\n","err":["TypeError","main.js:3"],"quick":true,"note":"the most usual failure: code, place and reason reach the caller"}
console.log("before");
null.property;
