/* cmd-token.h - `airlock token`: who may submit jobs to airlockd, and how many. */
#pragma once

/* argv from the subcommand's own name on. Returns the exit code. */
int cmd_token(int argc, char **argv);
