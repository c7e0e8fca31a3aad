# differential: {"stdin": "abc\n"}
import io
import os
import sys

for name in ("stdin", "stdout", "stderr"):
    stream = getattr(sys, name)
    print(name, stream is getattr(sys, f"__{name}__"), type(stream), stream.name, stream.mode, stream.encoding,
          stream.errors, stream.line_buffering, stream.write_through, stream.newlines, stream.isatty(), stream.fileno())
    print(repr(stream), repr(stream.buffer), getattr(stream.buffer, "mode", None), stream.closed)
    raw = stream.buffer.raw if hasattr(stream.buffer, "raw") else stream.buffer
    print(repr(raw), raw.closefd, raw.seekable(), raw.readable(), raw.writable(), io.DEFAULT_BUFFER_SIZE)
    print(stream._CHUNK_SIZE, sorted(vars(stream)), os.get_blocking(stream.fileno()), os.get_inheritable(stream.fileno()))
