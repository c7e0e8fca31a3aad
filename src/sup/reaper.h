/*
 * reaper.h - the small process that outlives a killed supervisor and cleans up after it.
 *
 * Forked by the supervisor once it holds its slot and before the machine exists.  It shares the
 * slot's lock, so the slot is not given out before the cleanup is done, and waits on a pipe.  "done"
 * on the pipe: the supervisor cleaned up itself.  End of file: it died; the reaper kills what lives
 * in the machine's control groups, removes them and the staging directory of an export, and gives
 * the slot back.  Should both be killed, the next start of any job reconciles (hold_take()).
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "sup/hold.h"
#include "sys/proc.h"

struct reaper {
    struct proc proc;
    int fd; /* our end of the pipe, -1 = none */
};

#define REAPER_INIT                 \
    {                               \
        .proc = PROC_INIT, .fd = -1 \
    }

/* out_dir: where outputs go, NULL = nowhere; machine_id names an export's staging directory. */
must_use int reaper_start(struct hold *hold, const char *out_dir, const char *machine_id,
                          struct reaper *ret, struct err *err) nonnull_args(1, 3, 4, 5);

/* Tells it that all is clean, and waits for its end. Nothing if there is none. */
void reaper_dismiss(struct reaper *reaper) nonnull_all;
