/*
 * capacity.h - what the host can carry, as the queue sees it.
 *
 * The ledger (sup/ledger.h) decides: it admits each machine under its lock, for every process of
 * the state directory.  This model says beforehand what it will say, so that the queue does not ask
 * in vain; both read the host by the same function.  Nothing here is kept between calls, and no
 * number of a client gets in but through struct spec.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "job/spec.h"
#include "sup/ledger.h"

/* What one job takes while it has its slot; also sums of that. Sums are cut at UINT64_MAX. */
struct capacity_need {
    uint64_t machines;
    uint64_t memory_bytes; /* of the machine, with the monitor's measured overhead */
    uint64_t vcpus;
    uint64_t disk_bytes; /* below the state directory, at most */
    uint64_t processes;  /* and threads, of the whole system: most that it may have */
    uint64_t fds;        /* of the daemon's own process */
};

enum capacity_resource {
    CAPACITY_MACHINES,
    CAPACITY_MEMORY,
    CAPACITY_VCPUS,
    CAPACITY_DISK,
    CAPACITY_PROCESSES,
    CAPACITY_FDS,
    CAPACITY_RESOURCES, /* how many there are */
};

/* "machines", "memory", "vcpus", "disk", "processes", "fds": a constant. */
const char *capacity_name(enum capacity_resource resource);
uint64_t capacity_get(const struct capacity_need *need,
                      enum capacity_resource resource) nonnull_all;

/* Config. 0 = what the host says, or the default. */
struct capacity_config {
    struct ledger_capacity host;
    uint64_t processes; /* default: half of the less of kernel.pid_max and kernel.threads-max */
    uint64_t fds;       /* default: half of RLIMIT_NOFILE; the other half is for connections */
};

/* One reading. */
struct capacity {
    struct capacity_need total;      /* all that all jobs together may take, reserves taken off */
    uint64_t memory_available_bytes; /* MemAvailable without the reserve: what is there now */
};

/* What is promised to machines that run, ours or another's of this state directory. */
struct capacity_load {
    struct capacity_need promised;
    uint64_t untouched_bytes; /* promised memory that is still counted as available */
};

/*
 * Reads the host. state_fd: a descriptor in the file system that the jobs are written to. Where
 * there is less than the reserve, it is 0: nothing fits. ERR_HOST if the host can't be read.
 */
must_use int capacity_read(int state_fd, const struct capacity_config *config, struct capacity *ret,
                           struct err *err) nonnull_all;

/*
 * What a machine for this spec takes: the same numbers that the supervisor asks the ledger for. And
 * what its job may leave with us before the machine's own files are gone: streams and outputs.
 */
void capacity_need_of(const struct spec *spec, struct capacity_need *ret) nonnull_all;

void capacity_add(struct capacity_need *sum, const struct capacity_need *need) nonnull_all;
/* Cut at 0. */
void capacity_sub(struct capacity_need *sum, const struct capacity_need *need) nonnull_all;

/*
 * What is left for new machines. Memory is the less of two: the total without all promises, and
 * what is available now without the promises that nobody has touched yet.
 */
void capacity_free(const struct capacity *capacity, const struct capacity_load *load,
                   struct capacity_need *ret) nonnull_all;

/* False: *ret_short is the first resource that is short. ret_short may be NULL. */
must_use bool capacity_fits(const struct capacity_need *room, const struct capacity_need *need,
                            enum capacity_resource *ret_short) nonnull_args(1, 2);

/* The largest part of any resource that need takes of total, in millionths; at least 1. */
uint64_t capacity_share(const struct capacity_need *total,
                        const struct capacity_need *need) nonnull_all;
