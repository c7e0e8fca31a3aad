#include "cli/cmd-version.h"

#include <stdio.h>

#include "base/base.h"

#include "cli/opt.h"

int cmd_version(int argc, char **argv)
{
    static const struct opt_cmd cmd = {
        .name = "airlock version",
        .usage = "",
        .about = "Prints airlock's version.",
    };

    struct opt_rest rest = {0};
    int exit_code = 0;

    if (!opt_start(&cmd, argc, argv, NULL, &rest, &exit_code)) {
        return exit_code;
    }
    if (rest.n > 0) {
        return opt_mistake(&cmd, "unexpected argument '%.64s'", rest.operands[0]);
    }
    return printf("airlock %s\n", AIRLOCK_VERSION) < 0 || fflush(stdout) != 0 ? EXIT_FAILURE
                                                                              : EXIT_SUCCESS;
}
