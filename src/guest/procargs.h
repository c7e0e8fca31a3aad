/*
 * procargs.h - the arguments and environment that /proc shows of a process (cmdline, environ).
 *
 * The kernel remembers where on its stack they were when it began. A process that was started
 * before its job is shown with the job's: they are written into a variable of its first environment
 * that is large enough and nobody reads, and the process is made to say that they are there
 * (PR_SET_MM_MAP, prctl(2)).
 */
#pragma once

#include <linux/prctl.h>
#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

#include "proto/msg.h"

/* The last entry of its first environment. Its hook removes it where getenv() would find it. */
#define PROCARGS_NAME "AIRLOCK_ROOM="
#define PROCARGS_SIZE (MSG_WARM_STRINGS + 256u) /* a struct and its alignment as well */

struct procargs {
    struct prctl_mm_map map; /* as it is; brk is asked for each time */
    uint64_t room;           /* address in the process; PROCARGS_SIZE bytes */
};

/*
 * Of process pid that waits, whose first environment has n_shown entries to be shown, then others,
 * the last of them the room: only those n_shown are shown from now on.
 */
must_use int procargs_init(struct procargs *a, pid_t pid, const char *const *envp, size_t n_shown,
                           struct err *err) nonnull_all;

/* Shows these instead; NULL: leave what is shown. At most MSG_WARM_STRINGS together with NULs. */
must_use int procargs_show(struct procargs *a, pid_t pid, char *const *argv, char *const *envp,
                           struct err *err) nonnull_args(1, 5);
