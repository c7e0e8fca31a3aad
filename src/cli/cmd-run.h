/* cmd-run.h - `airlock run`. */
#pragma once

/* argv from the subcommand's own name on. Returns the exit code: the verdict's number. */
int cmd_run(int argc, char **argv);
