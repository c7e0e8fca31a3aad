// airlock-case: {"expect":"success","stdout":"not interested\n","stdin_bytes":600000,"limits":{"wall_s":6},"note":"more input than any pipe holds and nobody reads it: whoever writes it all first hangs","source":"https://github.com/superradcompany/microsandbox/pull/706"}
console.log("not interested");
