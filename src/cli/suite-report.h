/*
 * suite-report.h - what is told of a run: a line for each case, one JSON object, one HTML page.
 *
 * All text of cases and programs is hostile: escaped for the terminal, for JSON and for HTML.
 */
#pragma once

#include <jansson.h>
#include <time.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "cli/suite-load.h"

struct suite_facts {
    const char *engine, *isolation; /* borrowed */
    const char *cases;              /* --cases; NULL: the programs in the binary */
    const char *filter;
    bool quick;
    unsigned int slow; /* what wall and CPU were multiplied by */
    bool interrupted;
    unsigned int jobs;
    unsigned int pool_size; /* 0: no pool */
    uint64_t pool_hits, pool_misses, pool_restored;
    time_t started;
    uint64_t ns; /* the whole run */
};

struct suite_count {
    size_t passed, failed, skipped, waiting; /* waiting: selected, but not run any more */
    size_t selected;
    size_t kinds;     /* different names among the selected */
    size_t explained; /* kinds that one language can't express and say why */
};

struct suite_count suite_count(const struct suite_cases *cases) nonnull_all;

/* "ok   basic/hello  python  success  success  3.2 s", and a second line with what went wrong. */
must_use int suite_line(const struct suite_case *c, size_t done, size_t all,
                        struct buf *out) nonnull_all;
/* The last lines of the table: skips by reason, remarks, counts. */
must_use int suite_summary(const struct suite_cases *cases, const struct suite_facts *facts,
                           struct buf *out) nonnull_all;

/* "timeout (wall)", "success | oom": what the header expects, in words; out is of size bytes. */
const char *suite_expectation(const struct suite_case *c, char *out, size_t size) nonnull_all;
/* "user_exception (exit 3)": what came. */
const char *suite_got(const struct suite_case *c, char *out, size_t size) nonnull_all;
const char *suite_state_name(enum suite_state state);

/* The whole report; the page is made from it too. NULL when out of memory. */
json_t *suite_report(const struct suite_cases *cases, const struct suite_facts *facts) nonnull_all;
/* A page that needs nothing else: no script, no resource from elsewhere, light and dark. */
must_use int suite_html(const json_t *report, struct buf *out) nonnull_all;
