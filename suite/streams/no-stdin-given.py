# airlock-case: {"expect":"success","stdout":"b'' False\n","limits":{"wall_s":3},"note":"no stdin means an empty one: not a terminal, not the caller's, not one that blocks","source":"https://github.com/langchain-ai/langsmith-sdk/pull/3453"}
import sys

print(sys.stdin.buffer.read(), any(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)))
