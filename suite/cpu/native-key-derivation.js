// airlock-case: {"expect":"timeout","which":"cpu","stdout":"deriving\n","limits":{"cpu_s":1,"wall_s":60},"note":"a library call that never comes back to the interpreter, where no timer would fire"}
console.log("deriving");
require("crypto").pbkdf2Sync("password", "salt", 2_000_000_000, 32, "sha256");
console.log("done");
