// airlock-case: {"expect":"success","stdout":"before\n\ufffd\n","note":"half a character cannot be printed: Node.js replaces it, the sandbox passes that on"}
console.log("before");
console.log("\ud83d");
