// airlock-case: {"expect":"success","exit":0,"stdout":"hello\n","outputs":{},"quick":true,"note":"control: nothing wrong here, so any other verdict is a false alarm"}
console.log("hello");
