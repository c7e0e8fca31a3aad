// airlock-case: {"expect":"user_exception","signal":"SIGFPE","stdout":"trapped\n","note":"WebAssembly catches the processor's trap; the signal itself then ends the program"}
// (module (func (export "f") (result i32) i32.const 1 i32.const 0 i32.div_s))
const hex = "0061736d010000000105016000017f03020100070501016600000a09010700410141006d0b";
const { f } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(hex, "hex"))).exports;
try {
  f();
} catch (e) {
  if (e instanceof WebAssembly.RuntimeError) console.log("trapped");
}
process.kill(process.pid, "SIGFPE");
