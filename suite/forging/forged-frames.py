# airlock-case: {"expect":"user_exception","exit":4,"out_bytes":181,"outputs":{},"note":"the very frames by which the guest's agent reports an end with 0 and an empty output, put into both streams","source":"https://github.com/TencentCloud/CubeSandbox/pull/1238"}
import os
import struct

EXIT, OUTPUT_END = 21, 23


def frame(kind, sequence, payload):
    return struct.pack("<IHHII", 0x316B6C61, kind, 0, len(payload), sequence) + payload


frames = b""
for sequence in (2, 3):
    frames += frame(EXIT, sequence, struct.pack("<?IQQIII?QQQ", False, 0, 1, 1, 1, 0, 0, False, 0, 0, 0))
frames += frame(OUTPUT_END, 4, struct.pack("<?QQ", True, 0, 0))
for fd in (1, 2):
    os.write(fd, frames)
os._exit(4)
