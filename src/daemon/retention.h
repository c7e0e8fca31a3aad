/*
 * retention.h - which ended jobs lose their bytes: pure policy, it reads and removes nothing.
 *
 * A job is purged when it ended longer ago than age_ms, when its tenant keeps more than it may, or
 * when all together keep more than bytes; the first to end goes first, as many as are needed and no
 * more. A look takes and gives a bounded number: the next one goes on.
 */
#pragma once

#include "base/base.h"

#include "daemon/job.h"

struct retention_limits {
    uint64_t age_ms; /* since the end; 0 = no limit */
    uint64_t bytes;  /* of all jobs; 0 = no limit */
};

/* One tenant's account. Counts down as jobs are chosen. */
struct retention_tenant {
    char name[JOB_TENANT_SIZE];
    uint64_t kept_bytes;
    uint64_t limit_bytes; /* 0 = no limit */
};

struct retention {
    struct retention_limits limits;
    uint64_t now_ms;     /* real time */
    uint64_t kept_bytes; /* of all jobs now; counts down as jobs are chosen */
    struct retention_tenant *tenants;
    size_t n_tenants; /* whoever is not among them has no limit of its own */
};

/*
 * Of n ended jobs, the first to end first (jobstore_kept()), writes the indices of those to purge
 * to ret, at most max, and returns how many. Jobs that are not ended, or purged, are passed over; a
 * clock that went back makes no job old.
 */
must_use size_t retention_choose(struct retention *r, const struct job_info *jobs, size_t n,
                                 size_t *ret, size_t max) nonnull_args(1, 4);
