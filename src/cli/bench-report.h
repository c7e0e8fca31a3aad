/*
 * bench-report.h - what was measured, and how it is told: a table, one JSON object, one HTML page.
 */
#pragma once

#include <jansson.h>
#include <time.h>

#include "base/base.h"
#include "base/buf.h"

#include "cli/bench-run.h"

enum bench_mode {
    BENCH_BY_CLONE, /* `airlock run`: a machine cloned for this job */
    BENCH_BY_POOL,  /* a machine that was cloned before and waited */
    BENCH_MODES
};

const char *bench_mode_name(enum bench_mode mode);
const char *bench_language_name(enum spec_language language);

#define BENCH_WHY_MAX 300u

/* One work in one language in one mode. */
struct bench_row {
    struct bench_kind kind;
    enum bench_mode mode;
    struct bench_sample *samples; /* owned, room for as many as there are rounds */
    size_t n;                     /* good ones */
    size_t failed;
    char why[BENCH_WHY_MAX]; /* of the last that failed */
};

/* Python hello, as many at once as there are processors. */
struct bench_rate {
    enum bench_mode mode;
    bool measured;
    unsigned int at_once;
    size_t jobs, failed;
    uint64_t ns, cpu_ns;
};

#define BENCH_DENSITY_MAX 1024u

/* Clones that wait at once, without a job. */
struct bench_density {
    bool measured;
    size_t asked, waiting;
    uint64_t monitor_pss[BENCH_DENSITY_MAX]; /* bytes, of each machine process */
    size_t monitors;
    uint64_t rest_pss;        /* bytes, of all supervisors and reapers together */
    uint64_t available_bytes; /* MemAvailable before, less what it is with all of them */
    uint64_t ns;              /* until all waited */
    char why[BENCH_WHY_MAX];  /* fewer wait than were asked for */
};

/* From a state directory with nothing in it. */
struct bench_empty {
    bool measured, dropped; /* dropped: the host's page cache was, before each */
    enum spec_language language;
    uint64_t image_ns;    /* kernel, initramfs and image built */
    uint64_t template_ns; /* part of first_ns */
    uint64_t first_ns;    /* the first hello, template built */
    uint64_t again_ns;    /* one more hello, with a cold cache */
    char why[BENCH_WHY_MAX];
};

struct bench_facts {
    const char *engine, *isolation; /* borrowed */
    size_t rounds;
    time_t started;
    uint64_t ns;
    double load_before, load_after; /* average of a minute */
    bool interrupted;
    struct bench_row *rows;
    size_t n_rows;
    struct bench_rate rates[BENCH_MODES];
    const struct bench_density *density;
    struct bench_empty empty[2]; /* Python, JavaScript */
};

/* The whole report, from which table and page are made. Sorts nothing of facts but copies. */
json_t *bench_report(const struct bench_facts *facts) nonnull_all;
/* True if nothing failed and something was measured. */
bool bench_holds(const json_t *report) nonnull_all;
must_use int bench_table(const json_t *report, struct buf *out) nonnull_all;
/* The end of the table: throughput, density, empty state. */
must_use int bench_table_rest(const json_t *report, struct buf *out) nonnull_all;
must_use int bench_html(const json_t *report, struct buf *out) nonnull_all;
