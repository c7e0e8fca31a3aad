# differential: {"stdin": "abc"}
# The usual way of small programs: filters over standard streams, in one expression each.
import sys
import zlib
import base64
import struct
import bisect
import operator
import itertools
import functools
import collections
import statistics

data = sys.stdin.buffer.read()
print(zlib.crc32(data), base64.b85encode(data), struct.unpack(">HB", data), bisect.bisect([1, 3], 2))
print(list(itertools.accumulate([1, 2, 3], operator.mul)), functools.reduce(operator.add, [1, 2]), statistics.median([3, 1, 2]))
print(collections.Counter("aab").most_common(), collections.OrderedDict(a=1), collections.namedtuple("P", "x y")(1, 2))
print(functools.lru_cache(maxsize=2)(abs).cache_info(), collections.ChainMap({"a": 1}, {"b": 2})["b"], __name__)
