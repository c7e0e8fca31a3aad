# airlock-case: {"expect":"oom","has":"doubled","limits":{"mem_mib":48},"note":"a handful of steps from one byte to all memory, faster than any sampling","source":"https://github.com/google/gvisor/issues/2520"}
text = "x"
while True:
    text += text
    print("doubled", len(text), flush=True)
