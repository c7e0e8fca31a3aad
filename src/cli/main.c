/* main.c - picks the subcommand. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

#include "cli/cmd-bench.h"
#include "cli/cmd-doctor.h"
#include "cli/cmd-image.h"
#include "cli/cmd-records.h"
#include "cli/cmd-remote.h"
#include "cli/cmd-run.h"
#include "cli/cmd-submit.h"
#include "cli/cmd-suite.h"
#include "cli/cmd-template.h"
#include "cli/cmd-token.h"
#include "cli/cmd-version.h"
#include "cli/opt.h"

static const char about[] =
    "Runs a Python or JavaScript program, or any command of an image, in a fresh virtual machine\n"
    "that is used once and destroyed. The program sees its inputs and nothing else of this host.";

static const struct opt_sub subs[] = {
    {"run", "run a program in a fresh virtual machine", cmd_run},
    {"submit", "give a job to a daemon (airlockd)", cmd_submit},
    {"jobs", "list your jobs at a daemon", cmd_jobs},
    {"watch", "show the output of a daemon's job as it comes", cmd_watch},
    {"result", "show what a job of a daemon left behind, and fetch its outputs", cmd_result},
    {"cancel", "end jobs of a daemon", cmd_cancel},
    {"image", "build, list, verify, remove and update images", cmd_image},
    {"template", "build, list, verify and remove saved states of machines", cmd_template},
    {"records", "list and show what is on record of finished jobs", cmd_records},
    {"token", "say who may submit jobs to airlockd, and how many", cmd_token},
    {"suite", "run hostile programs and say whether each came to its known end", cmd_suite},
    {"bench", "measure jobs on this host, and where their time goes", cmd_bench},
    {"doctor", "examine this host: what works, what is missing, and the remedy", cmd_doctor},
    {"version", "print airlock's version", cmd_version},
};

/*
 * Descriptors 0-2 must be taken before anything is opened: a socket that landed on 1 would get what
 * is printed. Whoever closed them gets /dev/null.
 */
static int take_std_fds(void)
{
    int fd = -1;

    do {
        fd = open("/dev/null", O_RDWR);
        if (fd < 0) {
            return -1;
        }
    } while (fd <= STDERR_FILENO);
    return close(fd);
}

int main(int argc, char **argv)
{
    static char *no_args[] = {NULL};

    if (take_std_fds() < 0) {
        return EXIT_FAILURE;
    }
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        argv[1] += 2;
    }
    return opt_dispatch("airlock", about, subs, ARRAY_LEN(subs), argc, argc > 0 ? argv : no_args);
}
