/*
 * bench-measure.h - the measurements of `airlock bench`, each into its place in the facts.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "cli/bench-report.h"
#include "cli/bench-run.h"
#include "image/store.h"
#include "sup/pool.h"

#define BENCH_ROUNDS_MAX  1000u
#define BENCH_AT_ONCE_MAX 64u

struct bench {
    struct bench_setup setup;
    struct bench_facts facts;
    struct bench_density *density; /* borrowed, as facts.density is */
    struct store store;            /* of the pool */
    struct pool *pool;             /* NULL until bench_pooled() */
    int signals; /* a signalfd of SIGINT and SIGTERM, non-blocking; -1: none are heard */
};

#define BENCH_INIT                                                    \
    {                                                                 \
        .setup = BENCH_SETUP_INIT, .store = STORE_INIT, .signals = -1 \
    }

void bench_fini(struct bench *b) nonnull_all;
#define auto_bench on_scope_exit(bench_fini)

/* A row more, with room for the samples of all rounds. */
must_use int bench_add_row(struct bench *b, struct bench_kind kind, enum bench_mode mode,
                           struct err *err) nonnull_all;

/* -EINTR (ERR_USAGE) once a signal came, else 0. */
must_use int bench_go_on(struct bench *b, struct err *err) nonnull_all;

/* Puts a sample, or the failure told in why, into the row. */
void bench_note(struct bench_row *row, const struct bench_sample *sample, bool failed,
                const struct buf *why) nonnull_all;

/* A clone of each row's kind, not counted: templates exist then, and files are in the page cache. */
must_use int bench_warm_up(struct bench *b, struct err *err) nonnull_all;
/* One round of all rows of mode clone. */
must_use int bench_clones(struct bench *b, struct err *err) nonnull_all;
/* Python hello by clone, at_once at a time for so long. */
must_use int bench_clone_rate(struct bench *b, unsigned int at_once, uint64_t ns,
                              struct err *err) nonnull_all;
/* Image and template from nothing, in a state directory of our own; needs Debian's archive. */
must_use int bench_from_empty(struct bench *b, enum spec_language language,
                              struct err *err) nonnull_all;
