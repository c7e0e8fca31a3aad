/*
 * metrics.h - counts for the operator's monitoring, in Prometheus' text format 0.0.4.
 *
 * A fixed set: every metric and every value of its labels is in the tables of metrics.c, so no
 * request can make the registry grow. Names begin with airlock_.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

struct metrics;

/* label: the index of the label's value as the comment says; 0 where there is none. */
enum metric {
    /* counters: metrics_add() */
    METRIC_JOBS_ACCEPTED,
    METRIC_JOBS_REFUSED, /* enum metric_refusal */
    METRIC_JOBS_ENDED,   /* enum airlock_verdict */
    METRIC_JOBS_RETRIED, /* on a new machine */
    METRIC_POOL_HITS,    /* jobs that a waiting machine took */
    METRIC_POOL_MISSES,
    METRIC_CLEANUP_FAILURES, /* checks of the cleanup proof that failed */
    METRIC_LOG_LOST,
    METRIC_HTTP_REQUESTS,     /* metrics_http() */
    METRIC_HTTP_REJECTED,     /* requests that were not HTTP as it must be, or too slow */
    METRIC_RETENTION_REMOVED, /* jobs whose bytes retention removed */
    /* gauges: metrics_set() */
    METRIC_QUEUE_LENGTH,
    METRIC_RUNNING,
    METRIC_POOL_WAITING,
    METRIC_CAPACITY_TOTAL, /* enum metric_capacity */
    METRIC_CAPACITY_USED,  /* enum metric_capacity */
    METRIC_KEPT_BYTES,
    METRIC_CONNECTIONS,
    METRIC_QUARANTINED, /* slots */
    METRIC_READY,       /* 1 or 0 */
    /* histograms: metrics_observe(), in seconds */
    METRIC_PHASE_SECONDS, /* enum metric_phase */
    METRIC_HTTP_SECONDS, /* a request from its head to the end of its answer; not those that wait */
    METRICS,
};

enum metric_refusal {
    METRIC_REFUSAL_QUOTA,
    METRIC_REFUSAL_RATE,
    METRIC_REFUSAL_TENANT_QUEUE,
    METRIC_REFUSAL_QUEUE,
    METRIC_REFUSAL_DEADLINE,
    METRIC_REFUSAL_DRAINING,
    METRIC_REFUSAL_CAPACITY,
    METRIC_REFUSALS,
};

enum metric_capacity {
    METRIC_CAPACITY_MEMORY, /* bytes */
    METRIC_CAPACITY_VCPUS,
    METRIC_CAPACITY_DISK, /* bytes */
    METRIC_CAPACITY_PIDS,
    METRIC_CAPACITY_FDS,
    METRIC_CAPACITY_MACHINES,
    METRIC_CAPACITIES,
};

enum metric_phase {
    METRIC_PHASE_QUEUE,   /* accepted to taken from the queue */
    METRIC_PHASE_PREPARE, /* ... to the program's start */
    METRIC_PHASE_RUN,     /* ... to the program's end */
    METRIC_PHASE_FINISH,  /* ... to the end of cleanup */
    METRIC_PHASE_TOTAL,
    METRIC_PHASES,
};

must_use int metrics_new(struct metrics **ret, struct err *err) nonnull_all;
void metrics_free(struct metrics *m);

/* m NULL: nothing is counted (tests). A label out of range is a bug: assert(). */
void metrics_add(struct metrics *m, enum metric metric, unsigned int label, uint64_t n);
void metrics_set(struct metrics *m, enum metric metric, unsigned int label, uint64_t value);
void metrics_observe(struct metrics *m, enum metric metric, unsigned int label, uint64_t ns);
/* route: index into the table of routes, or routes_len: none; status: of the answer. */
void metrics_http(struct metrics *m, unsigned int route, unsigned int status);
/* The value of a counter or gauge; the count of a histogram. For tests and the soak. */
must_use uint64_t metrics_get(const struct metrics *m, enum metric metric,
                              unsigned int label) nonnull_all;

/* Called before each export, to set gauges that are read rather than counted. One only. */
void metrics_on_export(struct metrics *m, void (*fn)(void *ctx), void *ctx) nonnull_args(1, 2);
/* Appends all of it. 0, -ENOBUFS or -ENOMEM. */
must_use int metrics_text(struct metrics *m, struct buf *out) nonnull_all;
