// airlock-case: {"expect":"user_exception","exit":1,"stdout":"","err":"SyntaxError","note":"a program that does not even start is its author's error, not the sandbox's"}
console.log("never reached");
const = ;
