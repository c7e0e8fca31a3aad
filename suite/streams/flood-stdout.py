# airlock-case: {"expect":"output_overflow","which":"stdout","out_bytes":65536,"limits":{"out_kib":64},"quick":true,"note":"captured output costs memory outside of the program's limits; the cap's bytes come back and not one more","source":"https://github.com/python-discord/snekbox/pull/81"}
while True:
    print("flood " * 100)
