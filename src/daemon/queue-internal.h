/*
 * queue-internal.h - what the files of the queue share.
 *
 *   queue.c           what comes in and goes out, and the sums
 *   queue-table.c     finding: ids, tenants, deadlines, times to wait for
 *   queue-estimate.c  when a job will start, by playing the schedule ahead
 *   schedule.c        which job is next, and the reservation
 */
#pragma once

#include "daemon/queue.h"

#define QUEUE_PRIORITIES  (JOB_PRIORITY_MAX + 1u)
#define QUEUE_NOT_BLOCKED UINT64_MAX
#define QUEUE_MEAN_JOBS   4u /* that ended before a tenant's mean says something */

struct queue_tenant;

/* Heaps an entry can be in; its place in each, or SIZE_MAX. */
enum queue_heap_kind {
    QUEUE_BY_LATENESS, /* jobs that wait and have a deadline */
    QUEUE_BY_WAIT,     /* jobs that wait for their not_before */
    QUEUE_HEAPS,
};

struct queue_entry {
    struct queue_job job;
    struct queue_tenant *tenant;
    uint64_t seq; /* age: the order of acceptance */
    uint64_t put_ns;
    uint64_t not_before_ns; /* 0 = any time */
    uint64_t blocked_ns;    /* since when others went ahead for want of room; or NOT_BLOCKED */
    bool has_slot;
    uint64_t taken_ns, started_ns;                   /* with a slot; started 0 = not yet */
    struct queue_entry *prev, *next;                 /* in the line of its priority, or of slots */
    struct queue_entry *blocked_prev, *blocked_next; /* longest first */
    struct queue_entry *same_hash;
    size_t heap_at[QUEUE_HEAPS];
};

struct queue_line {
    struct queue_entry *first, *last;
};

struct queue_tenant {
    char name[JOB_TENANT_SIZE];
    struct queue_quota quota;
    struct queue_line lines[QUEUE_PRIORITIES];
    uint64_t waiting, running, bytes;
    struct capacity_need taken;
    uint64_t share;       /* of the host, millionths: queue_share() of taken */
    uint64_t used;        /* share (millionths) x ms of ended jobs; idle tenants are raised */
    uint64_t mean_ns;     /* of the time that its last jobs held their slots */
    uint64_t mean_jobs;   /* that are in it, up to QUEUE_MEAN_JOBS */
    uint64_t last_active; /* queue.clock: the longest idle one is forgotten first */
};

struct queue_heap {
    struct queue_entry **v;
    size_t n, cap;
};

struct queue {
    struct queue_config config;
    struct capacity_need total;
    bool total_known;
    struct capacity_need elsewhere; /* in use by others, as of the last take */

    struct queue_tenant **tenants;
    size_t n_tenants, cap_tenants;
    struct queue_tenant **order; /* room for as many, for one take */
    struct queue_entry **slots;  /* room for all running ones, for one take */
    size_t cap_slots;

    struct queue_entry **buckets; /* by id */
    size_t n_buckets;             /* a power of two */
    size_t n_entries;
    struct queue_heap heaps[QUEUE_HEAPS];

    struct queue_line running;
    struct queue_line blocked; /* by blocked_prev, blocked_next */
    uint64_t n_waiting, n_running, bytes;
    struct capacity_need taken;
    uint64_t next_seq;
    uint64_t clock; /* counts changes */

    struct queue_entry *reserved; /* one of the blocked, or NULL */
    uint64_t reserved_until_ns;
};

/* --- queue-table.c --- */

/* NULL if there is none. Borrowed. */
struct queue_entry *queue_find(const struct queue *q, const char *id) nonnull_all;
/* Into the table; makes room in heaps and in slots too, so that nothing after it can fail. */
must_use int queue_insert(struct queue *q, struct queue_entry *e) nonnull_all;
void queue_forget(struct queue *q, struct queue_entry *e) nonnull_all;

struct queue_tenant *queue_tenant_find(const struct queue *q, const char *name) nonnull_all;
/* Finds or makes; -ENOMEM, or -ENOSPC if there are too many with jobs. */
must_use int queue_tenant_get(struct queue *q, const char *name,
                              struct queue_tenant **ret) nonnull_all;

void queue_heap_add(struct queue *q, enum queue_heap_kind kind, struct queue_entry *e) nonnull_all;
/* Does nothing if it is not in there. */
void queue_heap_remove(struct queue *q, enum queue_heap_kind kind,
                       struct queue_entry *e) nonnull_all;
/* The one with the least time; NULL: empty. */
struct queue_entry *queue_heap_first(const struct queue *q, enum queue_heap_kind kind) nonnull_all;

/* The first time at which this job is too late; 0: it is already, whatever the time. */
uint64_t queue_late_at(const struct queue *q, const struct queue_entry *e) nonnull_all;

/* --- queue.c --- */

/* From its line, with all sums; heaps and reservation too. */
void queue_unlink_waiting(struct queue *q, struct queue_entry *e) nonnull_all;
void queue_give_slot(struct queue *q, struct queue_entry *e, uint64_t now_ns) nonnull_all;

/* --- queue-estimate.c --- */

uint64_t queue_add_ns(uint64_t a, uint64_t b);
/* What the tenant has in use, in millionths of the host; 0 = nothing. */
uint64_t queue_share(const struct queue *q, const struct capacity_need *taken) nonnull_all;
/* A job's use of the host for so long. */
uint64_t queue_use(const struct queue *q, const struct capacity_need *need,
                   uint64_t held_ns) nonnull_all;
/* By when a job that has a slot has given it back, by its wall limit; not before now. */
uint64_t queue_bound_ns(const struct queue *q, const struct queue_entry *e,
                        uint64_t now_ns) nonnull_all;

/*
 * When a job is expected to start. job NULL: the next one of that tenant that waits; tenant NULL
 * too: the next one at all. QUEUE_NEVER: can't be told.
 */
uint64_t queue_expect(const struct queue *q, const char *tenant, const struct queue_job *job,
                      uint64_t now_ns) nonnull_args(1);
/* Seconds for an answer from a time to wait. */
uint64_t queue_seconds(uint64_t wait_ns);

/* --- schedule.c --- */

/* Others went ahead of it. Only the first time counts. */
void queue_block(struct queue *q, struct queue_entry *e, uint64_t now_ns) nonnull_all;
/* It got its room, or leaves. */
void queue_unblock(struct queue *q, struct queue_entry *e) nonnull_all;
