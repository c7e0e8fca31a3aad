# airlock-case: {"expect":"oom","has":"bomb","never":"unpacked","limits":{"mem_mib":64},"note":"a few kilobytes of input that become all memory in one library call"}
import zlib

packer = zlib.compressobj(9, wbits=-15)
megabyte = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
bomb = megabyte * 200 + packer.flush()
print("bomb", len(bomb), flush=True)
print("unpacked", len(zlib.decompress(bomb, wbits=-15)), flush=True)
