/*
 * suite-run.h - runs all selected cases, several at once, each after the one it must follow.
 *
 * One process, one thread: it waits for the jobs' pidfds and for SIGINT and SIGTERM.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "cli/suite-job.h"
#include "cli/suite-load.h"

#define SUITE_JOBS_MAX 64u
/* No room for a machine is no fault of the case: it is tried again, so often, so much later. */
#define SUITE_CAPACITY_TRIES   60u
#define SUITE_CAPACITY_WAIT_NS (3 * NS_PER_S)

struct suite_run {
    struct suite_cases *cases;
    struct suite_setup *setup;
    unsigned int jobs;      /* at once, 1 to SUITE_JOBS_MAX */
    unsigned int pool_size; /* machines that wait for cases; 0 = there is no setup->pool */
    /* A case has ended, or will not be run. */
    void (*on_end)(void *ctx, const struct suite_case *c);
    void *ctx;
};

/*
 * Runs what is selected and still waiting. -EINTR (ERR_USAGE) after a signal: what ran was killed,
 * what had not ended is waiting.
 */
must_use int suite_run(const struct suite_run *run, struct err *err) nonnull_all;

/*
 * Asks the images, in a job of each language, for what the key 'needs' names, and skips the cases whose
 * needs are absent. A case whose image could not be asked fails. on_end is told either.
 */
must_use int suite_skip_needy(const struct suite_run *run, struct err *err) nonnull_all;

/* The case will not be run, and why; state is SUITE_SKIPPED or SUITE_FAILED. */
must_use int suite_settle(struct suite_case *c, enum suite_state state, const char *why,
                          struct err *err) nonnull_all;
