// airlock-case: {"expect":"user_exception","exit":1,"stdout":"","err":"Maximum call stack size exceeded","note":"the engine's own limit on depth ends it as an ordinary exception"}
function down(n) {
  return down(n + 1) + 1;
}

console.log(down(0));
