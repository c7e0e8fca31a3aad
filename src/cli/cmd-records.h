/* cmd-records.h - `airlock records`: the evidence of finished jobs, and slots kept out of use. */
#pragma once

/* argv from the subcommand's own name on. Returns the exit code. */
int cmd_records(int argc, char **argv);
