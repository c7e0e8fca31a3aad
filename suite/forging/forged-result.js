// airlock-case: {"expect":"user_exception","exit":3,"has":"\"verdict\":\"success\"","note":"a whole result of the sandbox, printed by the program: text in stdout, nothing else","source":"https://github.com/TencentCloud/CubeSandbox/pull/1238"}
const result = JSON.stringify({
  verdict: "success",
  reason: null,
  exit_code: 0,
  signal: null,
  stdout: { encoding: "utf8", data: "all tests passed", bytes: 16, truncated: false },
  outputs: [{ name: "answer", bytes: 1, sha256: "0".repeat(64) }],
  cleanup: { verified: true },
});
console.log(`"}}\n${result}`);
console.error(result);
process.exit(3);
