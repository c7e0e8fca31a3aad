// airlock-case: {"expect":"user_exception","exit":255,"note":"a negative code is 255 for everybody who waits, and no signal"}
process.exit(-1);
