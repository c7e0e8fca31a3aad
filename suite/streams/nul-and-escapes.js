// airlock-case: {"expect":"success","stdout":"a\u0000b\u001b[2J\u001b[1;31m\u001b]0;owned\u0007\r\b\u007f\u0085\u2028\ufeffend","note":"NUL, terminal escapes and odd line ends stay the bytes that they are in the result"}
process.stdout.write("a\0b\x1b[2J\x1b[1;31m\x1b]0;owned\x07\r\b\x7f\x85\u2028\ufeffend");
