/* cmd-doctor.h - `airlock doctor`. */
#pragma once

/* argv from the subcommand's own name on. Returns the exit code: 0 if jobs can run here, else 1. */
int cmd_doctor(int argc, char **argv);
