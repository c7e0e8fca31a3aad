#include "daemon/metrics.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/route.h"
#include "job/verdict.h"

#define VERDICTS       (AIRLOCK_CANCELED + 1)
#define STATUS_CLASSES 6u /* 0: no answer; 1 to 5: its first digit */
#define VALUES_MAX     16u

/* Upper bounds in microseconds; from a health check's time to a long job's. */
static const uint64_t buckets_us[] = {500,     1000,     2500,     5000,     10000,    25000,
                                      50000,   100000,   250000,   500000,   1000000,  2500000,
                                      5000000, 10000000, 30000000, 60000000, 300000000};
#define BUCKETS ARRAY_LEN(buckets_us)

enum kind {
    COUNTER,
    GAUGE,
    HISTOGRAM
};

static const char *const refusals[METRIC_REFUSALS] = {
    [METRIC_REFUSAL_QUOTA] = "quota",
    [METRIC_REFUSAL_RATE] = "rate",
    [METRIC_REFUSAL_TENANT_QUEUE] = "tenant_queue",
    [METRIC_REFUSAL_QUEUE] = "queue",
    [METRIC_REFUSAL_DEADLINE] = "deadline",
    [METRIC_REFUSAL_DRAINING] = "draining",
    [METRIC_REFUSAL_CAPACITY] = "capacity",
};

static const char *const capacities[METRIC_CAPACITIES] = {
    [METRIC_CAPACITY_MEMORY] = "memory_bytes",
    [METRIC_CAPACITY_VCPUS] = "vcpus",
    [METRIC_CAPACITY_DISK] = "disk_bytes",
    [METRIC_CAPACITY_PIDS] = "pids",
    [METRIC_CAPACITY_FDS] = "fds",
    [METRIC_CAPACITY_MACHINES] = "machines",
};

static const char *const phases[METRIC_PHASES] = {
    [METRIC_PHASE_QUEUE] = "queue", [METRIC_PHASE_PREPARE] = "prepare",
    [METRIC_PHASE_RUN] = "run",     [METRIC_PHASE_FINISH] = "finish",
    [METRIC_PHASE_TOTAL] = "total",
};

static const struct row {
    enum kind kind;
    unsigned int n; /* values of the label; 0 = no label */
    const char *name, *help;
    const char *label;         /* NULL: none */
    const char *const *values; /* of the label; NULL: the verdicts' names */
} rows[METRICS] = {
    [METRIC_JOBS_ACCEPTED] = {COUNTER, 0, "airlock_jobs_accepted_total", "Jobs accepted.", NULL,
                              NULL},
    [METRIC_JOBS_REFUSED] = {COUNTER, METRIC_REFUSALS, "airlock_jobs_refused_total",
                             "Jobs refused, by why.", "reason", refusals},
    [METRIC_JOBS_ENDED] = {COUNTER, VERDICTS, "airlock_jobs_total", "Jobs that ended, by verdict.",
                           "verdict", NULL},
    [METRIC_JOBS_RETRIED] = {COUNTER, 0, "airlock_jobs_retried_total",
                             "Jobs tried again on a new machine.", NULL, NULL},
    [METRIC_POOL_HITS] = {COUNTER, 0, "airlock_pool_hits_total",
                          "Jobs that a waiting machine took.", NULL, NULL},
    [METRIC_POOL_MISSES] = {COUNTER, 0, "airlock_pool_misses_total",
                            "Jobs for which no machine waited.", NULL, NULL},
    [METRIC_CLEANUP_FAILURES] = {COUNTER, 0, "airlock_cleanup_failures_total",
                                 "Checks of the cleanup proof that failed.", NULL, NULL},
    [METRIC_LOG_LOST] = {COUNTER, 0, "airlock_log_lines_lost_total",
                         "Log lines that found no room.", NULL, NULL},
    [METRIC_HTTP_REQUESTS] = {COUNTER, 0, "airlock_http_requests_total",
                              "Requests answered, by route and class of status.", NULL, NULL},
    [METRIC_HTTP_REJECTED] = {COUNTER, 0, "airlock_http_rejected_total",
                              "Requests that were not HTTP as it must be, or too slow.", NULL,
                              NULL},
    [METRIC_RETENTION_REMOVED] = {COUNTER, 0, "airlock_retention_removed_total",
                                  "Jobs whose bytes retention removed.", NULL, NULL},
    [METRIC_QUEUE_LENGTH] = {GAUGE, 0, "airlock_queue_length", "Jobs that wait.", NULL, NULL},
    [METRIC_RUNNING] = {GAUGE, 0, "airlock_jobs_running", "Jobs that have a machine.", NULL, NULL},
    [METRIC_POOL_WAITING] = {GAUGE, 0, "airlock_pool_waiting", "Machines that wait for a job.",
                             NULL, NULL},
    [METRIC_CAPACITY_TOTAL] = {GAUGE, METRIC_CAPACITIES, "airlock_capacity",
                               "What jobs may take of the host.", "resource", capacities},
    [METRIC_CAPACITY_USED] = {GAUGE, METRIC_CAPACITIES, "airlock_capacity_used",
                              "What jobs hold of it.", "resource", capacities},
    [METRIC_KEPT_BYTES] = {GAUGE, 0, "airlock_kept_bytes", "Bytes of all jobs on the disk.", NULL,
                           NULL},
    [METRIC_CONNECTIONS] = {GAUGE, 0, "airlock_http_connections", "Open connections.", NULL, NULL},
    [METRIC_QUARANTINED] = {GAUGE, 0, "airlock_slots_quarantined",
                            "Slots out of use after a failed cleanup.", NULL, NULL},
    [METRIC_READY] = {GAUGE, 0, "airlock_ready", "1 while jobs are taken.", NULL, NULL},
    [METRIC_PHASE_SECONDS] = {HISTOGRAM, METRIC_PHASES, "airlock_job_phase_seconds",
                              "Time of a job by phase.", "phase", phases},
    [METRIC_HTTP_SECONDS] = {HISTOGRAM, 0, "airlock_http_request_seconds",
                             "From a request's first line to the end of its answer; not those "
                             "that wait.",
                             NULL, NULL},
};

struct histogram {
    uint64_t count, sum_ns;
    uint64_t bucket[BUCKETS];
};

struct metrics {
    uint64_t value[METRICS][VALUES_MAX];
    struct histogram histogram[METRICS - METRIC_PHASE_SECONDS][METRIC_PHASES];
    uint64_t (*http)[STATUS_CLASSES]; /* by route; the last: none */
    void (*export)(void *ctx);
    void *ctx;
};

static_assert(VERDICTS <= VALUES_MAX && METRIC_REFUSALS <= VALUES_MAX &&
                  METRIC_CAPACITIES <= VALUES_MAX && METRIC_PHASES <= VALUES_MAX,
              "every label's values have room");

int metrics_new(struct metrics **ret, struct err *err)
{
    struct metrics *m = calloc(1, sizeof(*m));

    if (m != NULL) {
        m->http = calloc(routes_len + 1, sizeof(*m->http));
    }
    if (m == NULL || m->http == NULL) {
        free(m);
        return err_set(err, ERR_HOST, ENOMEM, "set up metrics: out of memory");
    }
    *ret = m;
    return 0;
}

void metrics_free(struct metrics *m)
{
    if (m != NULL) {
        free(m->http);
        free(m);
    }
}

static unsigned int values_of(const struct row *row)
{
    return row->n > 0 ? row->n : 1;
}

void metrics_add(struct metrics *m, enum metric metric, unsigned int label, uint64_t n)
{
    if (m == NULL) {
        return;
    }
    assert(rows[metric].kind == COUNTER && label < values_of(&rows[metric]));
    m->value[metric][label] += n;
}

void metrics_set(struct metrics *m, enum metric metric, unsigned int label, uint64_t value)
{
    if (m == NULL) {
        return;
    }
    /* A counter that somebody else counts (lost lines) is set, never added. */
    assert(rows[metric].kind != HISTOGRAM && label < values_of(&rows[metric]));
    m->value[metric][label] = value;
}

void metrics_observe(struct metrics *m, enum metric metric, unsigned int label, uint64_t ns)
{
    struct histogram *h = NULL;

    if (m == NULL) {
        return;
    }
    assert(rows[metric].kind == HISTOGRAM && label < values_of(&rows[metric]));
    h = &m->histogram[metric - METRIC_PHASE_SECONDS][label];
    h->count++;
    h->sum_ns += ns;
    for (size_t i = 0; i < BUCKETS; i++) {
        h->bucket[i] += ns <= buckets_us[i] * 1000 ? 1 : 0;
    }
}

void metrics_http(struct metrics *m, unsigned int route, unsigned int status)
{
    if (m == NULL) {
        return;
    }
    assert(route <= routes_len);
    m->http[route][status / 100 < STATUS_CLASSES ? status / 100 : 0]++;
}

uint64_t metrics_get(const struct metrics *m, enum metric metric, unsigned int label)
{
    assert(label < values_of(&rows[metric]));
    return rows[metric].kind == HISTOGRAM ? m->histogram[metric - METRIC_PHASE_SECONDS][label].count
                                          : m->value[metric][label];
}

void metrics_on_export(struct metrics *m, void (*fn)(void *ctx), void *ctx)
{
    m->export = fn;
    m->ctx = ctx;
}

static const char *value_name(const struct row *row, unsigned int i)
{
    return row->values != NULL ? row->values[i] : verdict_name((enum airlock_verdict)i);
}

static int put_http(const struct metrics *m, const char *name, struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i <= routes_len; i++) {
        const char *method = i < routes_len ? routes[i].method : "other";
        const char *path = i < routes_len ? routes[i].path : "other";

        for (unsigned int class = 2; class < STATUS_CLASSES && r == 0; class ++) {
            r = buf_printf(out, "%s{method=\"%s\",route=\"%s\",status=\"%uxx\"} %" PRIu64 "\n",
                           name, method, path, class, m->http[i][class]);
        }
    }
    return r;
}

/* Whole microseconds as seconds, without what a locale does to floating point. */
static int put_seconds(struct buf *out, uint64_t us)
{
    return buf_printf(out, "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
}

static int put_histogram(const struct row *row, const struct histogram *h, unsigned int i,
                         struct buf *out)
{
    char label[64] = "";
    int r = 0;

    if (row->n > 0) {
        (void)snprintf(label, sizeof(label), "%s=\"%s\"", row->label, value_name(row, i));
    }
    for (size_t b = 0; b < BUCKETS && r == 0; b++) {
        r = buf_printf(out, "%s_bucket{%s%sle=\"", row->name, label, row->n > 0 ? "," : "");
        if (r == 0) {
            r = put_seconds(out, buckets_us[b]);
        }
        if (r == 0) {
            r = buf_printf(out, "\"} %" PRIu64 "\n", h->bucket[b]);
        }
    }
    if (r == 0) {
        r = buf_printf(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n%s_sum%s%s%s ", row->name,
                       label, row->n > 0 ? "," : "", h->count, row->name, row->n > 0 ? "{" : "",
                       label, row->n > 0 ? "}" : "");
    }
    if (r == 0) {
        r = put_seconds(out, h->sum_ns / 1000);
    }
    if (r == 0) {
        r = buf_printf(out, "\n%s_count%s%s%s %" PRIu64 "\n", row->name, row->n > 0 ? "{" : "",
                       label, row->n > 0 ? "}" : "", h->count);
    }
    return r;
}

static int put_values(const struct metrics *m, enum metric metric, struct buf *out)
{
    const struct row *row = &rows[metric];
    int r = 0;

    if (metric == METRIC_HTTP_REQUESTS) {
        return put_http(m, row->name, out);
    }
    for (unsigned int i = 0; i < values_of(row) && r == 0; i++) {
        if (row->kind == HISTOGRAM) {
            r = put_histogram(row, &m->histogram[metric - METRIC_PHASE_SECONDS][i], i, out);
        } else if (row->n > 0) {
            r = buf_printf(out, "%s{%s=\"%s\"} %" PRIu64 "\n", row->name, row->label,
                           value_name(row, i), m->value[metric][i]);
        } else {
            r = buf_printf(out, "%s %" PRIu64 "\n", row->name, m->value[metric][0]);
        }
    }
    return r;
}

int metrics_text(struct metrics *m, struct buf *out)
{
    static const char *const kinds[] = {
        [COUNTER] = "counter", [GAUGE] = "gauge", [HISTOGRAM] = "histogram"};
    int r = 0;

    if (m->export != NULL) {
        m->export(m->ctx);
    }
    for (unsigned int i = 0; i < METRICS && r == 0; i++) {
        r = buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", rows[i].name, rows[i].help,
                       rows[i].name, kinds[rows[i].kind]);
        if (r == 0) {
            r = put_values(m, (enum metric)i, out);
        }
    }
    return r;
}
