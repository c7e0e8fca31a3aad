/*
 * pool.h - machines restored ahead of their jobs.
 *
 * A member is a supervisor process (sup_prepare()) with its slot, its reaper, its control groups and
 * a machine restored from a template, which waits on its socket for one job.  It serves that job and
 * ends, as any supervisor: nothing is used twice.  What a member is made of must be what the job
 * asks for (class.h); everything else comes with the job, identity, entropy and time included.  A job
 * that fits no member gets a supervisor of its own, and counts as a miss.
 *
 * The pool has no thread and no process of its own: its owner waits for pool_fd() and then calls
 * pool_tick().  A member lives no longer than its owner holds the pool: it sees the end of its
 * socket and cleans up, also after kill -9 of the owner.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "image/store.h"
#include "job/spec.h"
#include "sup/class.h"
#include "sup/sup.h"

#define POOL_MEMBERS_MAX 64u

/* A member that old gets no job any more: clocks drift, and what it drew at its boot ages. */
#define POOL_AGE_NS (600 * NS_PER_S)
/* After a machine that could not be restored: wait, twice as long each time. */
#define POOL_RETRY_MIN_NS (1 * NS_PER_S)
#define POOL_RETRY_MAX_NS (60 * NS_PER_S)
/* A member that does not take its job in this time is killed, and the job goes elsewhere. */
#define POOL_TAKE_NS (2 * NS_PER_S)

/* Where supervisors come from; the tests have their own. */
struct pool_source {
    /* As class_of(). */
    int (*class_of)(const struct store *store, const struct spec *spec, struct machine_class *ret,
                    struct err *err);
    /* As sup_prepare(). */
    int (*prepare)(const struct machine_class *class, const struct store *store, struct sup *ret,
                   struct err *err);
    /* As sup_start(). */
    int (*start)(const struct spec *spec, const struct store *store, bool streaming,
                 struct sup *ret, struct err *err);
};

struct pool_config {
    const struct store *store; /* borrowed, as long as the pool lives */
    unsigned int members_max;  /* whatever is planned; 1 to POOL_MEMBERS_MAX */
    unsigned int restores;     /* at once; 0 = 1 */
    /* Percent of the time in which machines may be restored: after one that took 1 s, 25 waits 3 s.
     * 0 = 100, no wait. */
    unsigned int restore_percent;
    uint64_t age_max_ns;              /* 0 = POOL_AGE_NS */
    const struct pool_source *source; /* NULL = the real one */
};

struct pool_stats {
    unsigned int planned, waiting, preparing; /* members, now */
    uint64_t hits, misses;                    /* of pool_submit() */
    uint64_t restored;                        /* members that came to wait */
    uint64_t failed;       /* members that did not, capacity of the host included */
    uint64_t died;         /* members that ended while they waited, or did not take their job */
    uint64_t retired;      /* members that were too old, or in no plan any more */
    uint64_t restore_ns;   /* how long the last one took from its start to its wait */
    char why[ERR_MSG_MAX]; /* of the last one that failed or died; "" = none */
};

struct pool;

/* The caller owns *ret. ERR_USAGE for numbers out of range. */
must_use int pool_new(const struct pool_config *config, struct pool **ret,
                      struct err *err) nonnull_all;
/*
 * Lets go of all members and waits until each has cleaned up, together at most some 15 s. NULL is
 * fine. Jobs that were submitted are their callers'.
 */
void pool_free(struct pool *pool);

static inline void pool_free_p(struct pool **pool)
{
    pool_free(*pool);
}

#define auto_pool on_scope_exit(pool_free_p)

/*
 * What to hold ready from now on: one machine for each of these specs (the same one several times is
 * several machines), the first ones first, at most members_max. Members that no spec asks for are
 * let go. Specs are looked at only during the call, and need not be whole: image or language,
 * engine, isolation, vcpus and memory count. A spec whose class can't be told (an image that does not
 * exist) is left out; the job itself will say why. Starts nothing: pool_tick() does.
 */
must_use int pool_plan(struct pool *pool, const struct spec *const *specs, size_t n,
                       struct err *err) nonnull_args(1, 4);

/* Can be read (poll, epoll) when pool_tick() has something to do, timers included. Borrowed. */
must_use int pool_fd(const struct pool *pool) nonnull_all;

/*
 * Never blocks but for a fork: hears the members, lets go of those that are dead or too old, and
 * begins to restore what is missing. What goes wrong is in pool_stats().
 */
void pool_tick(struct pool *pool) nonnull_all;

/* Ticks until all that is planned waits (0), or timeout_ns is over: -ETIMEDOUT with the reason. */
must_use int pool_wait(struct pool *pool, uint64_t timeout_ns, struct err *err) nonnull_all;

/* What pool_submit() would find for this spec. */
enum pool_outlook {
    POOL_NONE,   /* nothing: not planned, or the last machines could not be restored */
    POOL_COMING, /* one is being restored, or will be as soon as the pace allows */
    POOL_HAS,
};
enum pool_outlook pool_outlook(const struct pool *pool, const struct spec *spec) nonnull_all;

/*
 * A supervisor for a checked spec: a member that waits, else a new one. *ret is then as after
 * sup_start(), whatever it was, and *ret_hit says which. Relative paths in spec mean what they mean
 * to the caller now. A member that died meanwhile is passed over: no job is lost or run twice by it.
 */
must_use int pool_submit(struct pool *pool, const struct spec *spec, bool streaming,
                         struct sup *ret, bool *ret_hit, struct err *err) nonnull_all;

void pool_stats(const struct pool *pool, struct pool_stats *ret) nonnull_all;
