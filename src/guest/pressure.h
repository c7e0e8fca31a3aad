/*
 * pressure.h - ends a job that no longer gets anywhere at its memory limit.
 *
 * The file pages of the program's interpreter are charged to the job too, so just below its limit
 * the kernel evicts and reads the same code pages over and over instead of calling the OOM killer,
 * for minutes under emulation. When the job has waited for memory a quarter of the time in two windows
 * in a row, and next to nothing it holds could still be evicted, the limit is put below that for a
 * moment: the kernel then chooses a victim, counts and logs it as it always does.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

struct pressure {
    int fd; /* memory.pressure with a trigger (poll for POLLPRI); -1: not offered by the kernel */
    uint64_t limit_bytes;
    uint64_t last_ns; /* monotonic, of the last event that counted */
    bool armed;       /* one event counted; the next one acts */
};

#define PRESSURE_INIT \
    {                 \
        .fd = -1      \
    }

/*
 * For the life of the machine: a trigger has a thread of the kernel's, and taking it down waits for a
 * grace period, 20 ms that would be every job's. Then for a job with this limit.
 */
must_use int pressure_open(struct pressure *p, struct err *err) nonnull_all;
void pressure_begin(struct pressure *p, uint64_t limit_bytes) nonnull_all;

/* After POLLPRI. Blocks until the victim's memory is free, if there is one. */
must_use int pressure_event(struct pressure *p, struct err *err) nonnull_all;

/* True if an event at now_ns with these bytes that can't be evicted is the one to act on. */
must_use bool pressure_counts(struct pressure *p, uint64_t now_ns, uint64_t bytes) nonnull_all;
