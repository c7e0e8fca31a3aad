/*
 * reaper.h - the small process that outlives a killed supervisor and cleans up after it.
 *
 * Forked by the supervisor once it holds its slot and before the machine exists.  It shares the
 * slot's lock, so the slot is not given out before the cleanup is done, and waits on a pipe.  "done"
 * on the pipe: the supervisor cleaned up itself.  End of file: it died; the reaper kills what lives
 * in the machine's control groups, removes them and the staging directory of an export, gives the
 * slot back, and puts on record that the job was lost.  Should both be killed, the next start of any job reconciles (hold_take()).
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

/* What it does when the supervisor died, beside giving back what hold has. All borrowed. */
struct reaper_work {
    const char *out_dir;    /* where outputs go, NULL = nowhere */
    bool out_as_owner;      /* as in struct spec */
    const char *machine_id; /* names an export's staging directory */
    int store_fd;
    /* Called in the reaper: first as soon as it knows, then when all was swept. */
    void (*lost)(void *ctx, bool swept);
    void *ctx;
};

must_use int reaper_start(struct hold *hold, const struct reaper_work *work, struct reaper *ret,
                          struct err *err) nonnull_all;

/* Tells it that its task is over; it ends by itself, and reaper_dismiss() then need not wait. */
void reaper_excuse(const struct reaper *reaper) nonnull_all;

/* Tells it that all is clean, and waits for its end. Nothing if there is none. */
void reaper_dismiss(struct reaper *reaper) nonnull_all;
