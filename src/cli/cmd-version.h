/* cmd-version.h - `airlock version`. */
#pragma once

/* argv from the subcommand's own name on. Returns the exit code. */
int cmd_version(int argc, char **argv);
