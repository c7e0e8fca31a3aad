/*
 * jobstore.h - what is known of every job, kept over crashes: the store that the service speaks to.
 *
 * No word here is of SQLite, which jobstore.c does it with: a store that is elsewhere could give the
 * same answers. Bytes of a job are not in it (jobfiles.h); the row and the directory are put in step
 * again at the start of the daemon.
 *
 * What was inserted, updated or ended is kept when the call has returned 0: over kill -9 always, over
 * a loss of power with JOBSTORE_SYNC_FULL (docs/decisions/0032). A call that fails changed nothing.
 * The disk is full: ERR_LIMIT/-ENOSPC (or -EDQUOT, -EFBIG); the same call works once there is room
 * again. Other failures are ERR_HOST. Numbers are at most INT64_MAX, else ERR_USAGE/-ERANGE.
 *
 * Owner: one thread. Times are ms of the real-time clock since 1970.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "airlock/verdict.h"
#include "daemon/job.h"
#include "sys/digest.h"

#define JOBSTORE_VERDICTS   ((size_t)AIRLOCK_CANCELED + 1)
#define JOBSTORE_STATES     ((size_t)JOB_ENDED + 1)
#define JOBSTORE_KEY_MS     (24ull * 3600 * 1000) /* an Idempotency-Key is known for so long */
#define JOBSTORE_DELETE_MAX 1000u                 /* rows that one call removes: bounded work */

struct job_filter; /* service.h */
struct jobstore;

enum jobstore_sync {
    JOBSTORE_SYNC_NORMAL, /* the last jobs may be lost with the power, the store never */
    JOBSTORE_SYNC_FULL,   /* flushed to the disk before a call returns */
};

/*
 * Opens, or makes, the store in STATE/daemon, which must be the calling user's own and writable by
 * nobody else. dirfd is borrowed for the call. After an unclean stop the database is checked first.
 * ERR_HOST: -EWOULDBLOCK another daemon has this directory; -EPROTONOSUPPORT the store was made by a
 * newer airlockd; -EUCLEAN it is damaged; -EPERM it, or the directory, is not ours alone.
 *
 * Open it after the last fork of what shall outlive the daemon: a child shares the lock until exec().
 */
must_use int jobstore_open(int dirfd, enum jobstore_sync sync, struct jobstore **ret,
                           struct err *err) nonnull_all;
/* Also closes cleanly what is left to do, and gives the directory back. NULL is fine. */
void jobstore_free(struct jobstore *s);
void jobstore_free_p(struct jobstore **s) nonnull_all;
#define auto_jobstore on_scope_exit(jobstore_free_p)

/*
 * A new job, behind all others in the order in which jobs wait. key: its Idempotency-Key with the
 * digest of the request's body, NULL or "" if it has none; a key older than JOBSTORE_KEY_MS gives
 * way. ERR_USAGE/-EEXIST if the id or the tenant's key is taken.
 */
must_use int jobstore_insert(struct jobstore *s, const struct job_info *job, const char *key,
                             const struct digest *body, struct err *err) nonnull_args(1, 2, 5);

struct jobstore_key {
    char id[JOB_ID_SIZE]; /* of the job that came with it */
    struct digest body;
};

/* 1: *ret is what is known of the key; 0: nothing is, or it is too old. */
must_use int jobstore_key(struct jobstore *s, const char *tenant, const char *key, uint64_t now_ms,
                          struct jobstore_key *ret, struct err *err) nonnull_all;

/* tenant NULL: whosever it is. ERR_USAGE/-ENOENT if there is none, also for an id of odd form. */
must_use int jobstore_get(struct jobstore *s, const char *tenant, const char *id,
                          struct job_info *ret, struct err *err) nonnull_args(1, 3, 4, 5);

/* Jobs in some order, as many as there is room for. */
struct jobstore_page {
    struct job_info *jobs; /* the caller's, with room for max */
    size_t max;
    size_t n;  /* answer: so many */
    bool more; /* answer: there are more */
};

/*
 * As service_list(): newest first; page->max counts, filter->limit does not. ERR_USAGE/-ENOENT if
 * the cursor names none of the tenant's jobs. The work is bounded by the page, not by what is kept.
 */
must_use int jobstore_list(struct jobstore *s, const char *tenant, const struct job_filter *filter,
                           struct jobstore_page *page, struct err *err) nonnull_all;

/*
 * Puts down state (not JOB_ENDED), attempts, cancel, started_ms, machine_id and kept_bytes of
 * job->id. ERR_USAGE: -ENOENT there is none, -EALREADY it has ended: nothing changes any more.
 */
must_use int jobstore_update(struct jobstore *s, const struct job_info *job,
                             struct err *err) nonnull_all;

/* What a tenant pays for; all zero if nothing is charged. */
struct jobstore_charge {
    uint64_t cpu_ns, wall_ns;
};

/*
 * The end, once: besides what jobstore_update() takes verdict, reason and ended_ms. The charge
 * (NULL: none) is added to the tenant's account in the same step. Errors as jobstore_update().
 */
must_use int jobstore_end(struct jobstore *s, const struct job_info *job,
                          const struct jobstore_charge *charge, struct err *err)
    nonnull_args(1, 2, 4);

/* Its directory is gone: purged, no kept bytes. Again is fine. ERR_USAGE: -ENOENT, -EBUSY not ended.
 */
must_use int jobstore_purged(struct jobstore *s, const char *id, struct err *err) nonnull_all;

/*
 * Jobs that have not ended in the order in which they came: what a start goes on with. after: the
 * id of the last one of the page before (it may have ended meanwhile), "" = from the first.
 */
must_use int jobstore_unended(struct jobstore *s, const char *after, struct jobstore_page *page,
                              struct err *err) nonnull_all;

/*
 * Ended jobs whose bytes are kept, the first to end first. tenant NULL: of all. after: as above
 * (-ENOENT if the row is gone), "" = from the first.
 */
must_use int jobstore_kept(struct jobstore *s, const char *tenant, const char *after,
                           struct jobstore_page *page, struct err *err) nonnull_args(1, 3, 4, 5);

struct jobstore_tenant {
    char name[JOB_TENANT_SIZE];
    uint64_t kept_bytes;              /* of all its jobs together */
    uint64_t states[JOBSTORE_STATES]; /* how many jobs are in it; ended ones as long as known */
    struct jobstore_charge charged;   /* of all that ever ended here */
    uint64_t charged_jobs;
};

/* All zero for one that has no jobs. The work does not grow with the number of jobs. */
must_use int jobstore_tenant(struct jobstore *s, const char *tenant, struct jobstore_tenant *ret,
                             struct err *err) nonnull_all;
/* Names of those that ever had a job, in their order, after a name ("" = from the first). */
must_use int jobstore_tenants(struct jobstore *s, const char *after, char (*ret)[JOB_TENANT_SIZE],
                              size_t max, size_t *ret_n, struct err *err) nonnull_all;

struct jobstore_counts {
    uint64_t states[JOBSTORE_STATES];
    uint64_t verdicts[JOBSTORE_VERDICTS];
    uint64_t kept_bytes;
};

/* Of the rows there are. The work grows with the number of tenants, not of jobs. */
must_use int jobstore_counts(struct jobstore *s, struct jobstore_counts *ret,
                             struct err *err) nonnull_all;

/*
 * Forgets ended jobs without bytes: those that ended before before_ms, and, the first to end first,
 * as many as there are more than max_rows jobs in all. At most JOBSTORE_DELETE_MAX; *ret_n says how
 * many: call again at that number. Their keys go with them.
 */
must_use int jobstore_forget(struct jobstore *s, uint64_t before_ms, uint64_t max_rows,
                             uint64_t *ret_n, struct err *err) nonnull_all;
/* Forgets keys older than JOBSTORE_KEY_MS, at most JOBSTORE_DELETE_MAX. */
must_use int jobstore_expire_keys(struct jobstore *s, uint64_t now_ms, uint64_t *ret_n,
                                  struct err *err) nonnull_all;
