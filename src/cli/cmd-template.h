/* cmd-template.h - `airlock template`: the saved states that machines start from. */
#pragma once

/* argv from the subcommand's own name on. Returns the exit code. */
int cmd_template(int argc, char **argv);
