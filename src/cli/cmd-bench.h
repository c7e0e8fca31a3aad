/* cmd-bench.h - airlock bench: how fast jobs are on this host, and where the time goes. */
#pragma once

int cmd_bench(int argc, char **argv);
