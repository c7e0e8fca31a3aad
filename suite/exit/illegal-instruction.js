// airlock-case: {"expect":"user_exception","signal":"SIGILL","stdout":"trapped\n","note":"WebAssembly catches its own unreachable; the signal itself then ends the program"}
// (module (func (export "f") unreachable))
const hex = "0061736d0100000001040160000003020100070501016600000a05010300000b";
const { f } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(hex, "hex"))).exports;
try {
  f();
} catch (e) {
  if (e instanceof WebAssembly.RuntimeError) console.log("trapped");
}
process.kill(process.pid, "SIGILL");
