/* cmd-suite.h - `airlock suite`: hostile programs with known ends, through the product itself. */
#pragma once

/* argv from the subcommand's own name on. Returns 0 only if every case that ran holds. */
int cmd_suite(int argc, char **argv);
