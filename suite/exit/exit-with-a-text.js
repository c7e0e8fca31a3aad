// airlock-case: {"expect":"user_exception","exit":1,"stdout":"","err":"success","note":"a text is thrown instead of an error: exit code 1, whatever the text says"}
throw "success";
