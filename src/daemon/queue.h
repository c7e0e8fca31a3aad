/*
 * queue.h - which job runs next.
 *
 * Pure and deterministic: no I/O, no clock (now_ns is CLOCK_MONOTONIC, and never goes back), no
 * pointer into it ever leaves it.  Jobs are named by their id (job.h), everything goes in and out
 * by value: another implementation of this header may keep its jobs on another host, and then it is
 * where its calls fail with ERR_HOST.  The store (jobstore.h) is what survives a restart; the queue
 * is filled again from it by queue_restore().
 *
 * Of a job it knows three states: it waits, it has a slot (queue_take() to queue_ended() or
 * queue_requeue()), or it is not in here.  What the jobs with slots take is summed up in here and
 * nowhere else; queue_check() proves the sums.
 *
 * Order. Between tenants: who has the smallest share of the host in use comes first (the largest
 * part of any resource that its jobs with slots take together), then who used least (share x time
 * of ended jobs; idle time is no credit).  Within a tenant: priority, then age; a job never goes
 * ahead of another of its tenant but by priority, or because the other must wait (not_before).  A
 * job that others went ahead of for want of room has room reserved after reserve_after_ns: from
 * then on others start only if they end, by their wall limits, before it could start, or don't need
 * what it needs.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "daemon/capacity.h"
#include "daemon/job.h"

#define QUEUE_QUEUED_MAX  100000u /* queued_max may not be more; about 400 bytes each */
#define QUEUE_TENANTS_MAX 4096u
#define QUEUE_NEVER       UINT64_MAX

#define QUEUE_QUEUED_DEFAULT        1000u
#define QUEUE_RESERVE_AFTER_DEFAULT (10 * NS_PER_S)
#define QUEUE_OVERHEAD_DEFAULT      (2 * NS_PER_S)

/* 0 = the default. */
struct queue_config {
    uint64_t queued_max;       /* jobs that wait, of all tenants */
    uint64_t bytes_max;        /* that they keep (queue_job.bytes); default no limit */
    uint64_t tenants_max;      /* known at once; QUEUE_TENANTS_MAX */
    uint64_t reserve_after_ns; /* as above */
    uint64_t overhead_ns;      /* a slot is held this much longer than the program's wall limit */
    uint64_t lead_ns; /* from queue_take() to the program's start at the soonest; default 0 */
};

struct queue_quota {
    uint64_t concurrent; /* jobs that have slots; at least 1 */
    uint64_t queued;     /* jobs that wait; at least 1, since every job waits for a moment */
};

struct queue_job {
    char id[JOB_ID_SIZE];
    char tenant[JOB_TENANT_SIZE];
    unsigned int priority; /* 0 to JOB_PRIORITY_MAX, more is sooner */
    struct capacity_need need;
    uint64_t bytes;       /* that it keeps while it waits: its specification */
    uint64_t wall_ns;     /* the program's limit */
    uint64_t deadline_ns; /* monotonic: the program starts by then, or never; 0 = none */
};

enum queue_verdict {
    QUEUE_ACCEPTED,
    QUEUE_HOST_FULL,   /* as many jobs or bytes wait as may, or as many tenants have jobs */
    QUEUE_TENANT_FULL, /* ... of this tenant */
    QUEUE_TOO_LATE,    /* it can't be expected to start before its deadline */
    QUEUE_TOO_LARGE,   /* the whole host is too small for it: no time is a better one */
};

struct queue_answer {
    enum queue_verdict verdict;
    uint64_t retry_after_s; /* an estimate, 1 to 3600; 0 if accepted or QUEUE_TOO_LARGE */
    enum capacity_resource too_little; /* QUEUE_TOO_LARGE: what there is too little of */
};

struct queue;

/* The caller owns *ret. ERR_USAGE for numbers out of range. */
must_use int queue_new(const struct queue_config *config, struct queue **ret,
                       struct err *err) nonnull_all;
void queue_free(struct queue *q);

static inline void queue_free_p(struct queue **q)
{
    queue_free(*q);
}

#define auto_queue on_scope_exit(queue_free_p)

/*
 * All that there is (capacity_read()): shares are parts of it, and what needs more is refused.
 * Until the first call nothing is. A job that was accepted before stays, and waits for better
 * times.
 */
void queue_set_total(struct queue *q, const struct capacity_need *total) nonnull_all;

/*
 * The tenant's quota from now on; each queue_put() says it too. Unknown tenants: nothing happens.
 */
void queue_set_quota(struct queue *q, const char *tenant,
                     const struct queue_quota *quota) nonnull_all;

/*
 * Accepts a job or says why not (*ret_answer): nothing of a refused one is left. To tell what waits
 * from what could start at once, call queue_take() after each. ERR_USAGE/-EEXIST if the id is in
 * here, -EINVAL for values out of range, ERR_HOST/-ENOMEM.
 */
must_use int queue_put(struct queue *q, const struct queue_job *job,
                       const struct queue_quota *quota, uint64_t now_ns,
                       struct queue_answer *ret_answer, struct err *err) nonnull_all;

/* A job that was accepted before a restart: never refused. In the order in which they were. */
must_use int queue_restore(struct queue *q, const struct queue_job *job,
                           const struct queue_quota *quota, uint64_t now_ns,
                           struct err *err) nonnull_all;

/*
 * The next job that fits into room (capacity_free()): 1 and *ret, and it has its slot; 0 if there
 * is none now. A job whose deadline can't be met is never the next one: call queue_expire() first.
 */
must_use int queue_take(struct queue *q, const struct capacity_need *room, uint64_t now_ns,
                        struct queue_job *ret, struct err *err) nonnull_all;

/* The program of a job that has its slot started; for the estimates alone. -ENOENT. */
must_use int queue_started(struct queue *q, const char *id, uint64_t now_ns,
                           struct err *err) nonnull_all;

enum queue_again {
    QUEUE_AGAIN_FAILED,      /* the machine failed before the program started */
    QUEUE_AGAIN_NO_CAPACITY, /* the ledger said no: it then counts as one that found no room */
};

/*
 * Gives its slot back and puts it in front of its priority, not to be taken before not_before_ns
 * (0 = at once). Nothing is charged to the tenant, no limit refuses it. -ENOENT if it has no slot.
 */
must_use int queue_requeue(struct queue *q, const char *id, enum queue_again why,
                           uint64_t not_before_ns, uint64_t now_ns, struct err *err) nonnull_all;

/*
 * A job with a slot is over: the slot comes back. charged: its time counts as use of its tenant and
 * for the estimates (false: capacity_rejected, a machine that failed). -ENOENT if it has no slot.
 */
must_use int queue_ended(struct queue *q, const char *id, bool charged, uint64_t now_ns,
                         struct err *err) nonnull_all;

/* A job that waits is not wanted any more. 1: removed; 0: it has no place among those that wait. */
must_use int queue_remove(struct queue *q, const char *id, struct err *err) nonnull_all;

/*
 * One job that waits and can't start by its deadline any more: 1 and *ret, it is out of the queue
 * and the caller ends it (capacity_rejected). 0: none. Call until 0.
 */
must_use int queue_expire(struct queue *q, uint64_t now_ns, struct queue_job *ret,
                          struct err *err) nonnull_all;

/*
 * When queue_expire() or queue_take() could have something new that no other call brings about:
 * a deadline, a not_before, the end of a reservation. QUEUE_NEVER: no such time. Room that others
 * than our jobs give back tells nobody: while jobs wait, look at the host now and then.
 */
uint64_t queue_wake_ns(const struct queue *q, uint64_t now_ns) nonnull_all;

/* In how many seconds this tenant may try again; as in an answer. For other reasons to refuse. */
uint64_t queue_retry_after_s(const struct queue *q, const char *tenant,
                             uint64_t now_ns) nonnull_all;

struct queue_stats {
    uint64_t waiting, running; /* jobs; running: they have slots */
    uint64_t tenants;          /* that have jobs in here */
    uint64_t bytes;            /* of jobs that wait */
    struct capacity_need taken;
    bool reserved;           /* room is being kept for a job */
    uint64_t oldest_wait_ns; /* of a job that waits; 0 = none */
};

void queue_stats(const struct queue *q, uint64_t now_ns, struct queue_stats *ret) nonnull_all;

/* Counts everything anew: true if all sums and links are right. For tests and asserts; O(n). */
must_use bool queue_check(const struct queue *q) nonnull_all;
