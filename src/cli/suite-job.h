/*
 * suite-job.h - one case as a job: started and judged exactly as a user would see it.
 *
 * Each is `airlock run --json` of this very executable, with the program, its inputs and an empty
 * --out directory as files in a directory of its own; with a pool the same command line becomes a
 * job of the pool, and with a daemon it is `airlock submit --wait --json`. The caller waits on suite_job_fd().
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "cli/http.h"
#include "cli/suite-case.h"
#include "job/spec.h"
#include "sup/pool.h"
#include "sys/proc.h"

/* What a supervisor may take beside the wall limit before it counts as hung. */
#define SUITE_PATIENCE_NS (300 * NS_PER_S)

struct suite_setup {
    struct pool *pool; /* where jobs go; NULL = to processes of their own. Borrowed */
    const struct http_config
        *remote;        /* the daemon that runs the jobs; NULL = this host. Borrowed */
    const char *state;  /* --state; NULL = the default */
    const char *engine; /* --engine; NULL = auto */
    unsigned int slow;  /* suite-limits.h */
    bool cold;          /* --cold-interpreter for every case */
    char dir[256];      /* an empty directory for the jobs' directories */
    int dirfd;
    unsigned int numbers; /* names given to jobs' directories so far */
};

#define SUITE_SETUP_INIT \
    {                    \
        .dirfd = -1      \
    }

/* Makes the directory below $TMPDIR or /tmp; the destructor removes it and what jobs left in it. */
must_use int suite_setup_init(struct suite_setup *setup, struct err *err) nonnull_all;
void suite_setup_fini(struct suite_setup *setup) nonnull_all;
#define auto_suite_setup on_scope_exit(suite_setup_fini)

struct suite_job {
    struct suite_case *c; /* borrowed; NULL = free */
    struct proc proc;     /* airlock run; or, in a pool: */
    struct sup sup;
    struct buf text; /* the result */
    bool done;       /* it is there */
    int out_fd, err_fd;
    char name[16]; /* its directory, below the setup's */
    uint64_t start_ns, give_up_ns;
};

#define SUITE_JOB_INIT                                                 \
    {                                                                  \
        .proc = PROC_INIT, .sup = SUP_INIT, .out_fd = -1, .err_fd = -1 \
    }

/* Kills what runs; its directory goes with the setup's. */
void suite_job_fini(struct suite_job *job) nonnull_all;
#define auto_suite_job on_scope_exit(suite_job_fini)

/* c is marked as running. */
must_use int suite_job_start(struct suite_setup *setup, struct suite_case *c, struct suite_job *ret,
                             struct err *err) nonnull_all;

/* Can be read when suite_job_hear() has something to do. */
int suite_job_fd(const struct suite_job *job) nonnull_all;
/* Takes what is there. True once the job has ended, and suite_job_end() is due. */
must_use bool suite_job_hear(struct suite_job *job) nonnull_all;

/* The machine that a case needs, into an initialised spec, for the plan of a pool. */
must_use int suite_job_model(const struct suite_setup *setup, const struct suite_case *c,
                             struct spec *ret, struct err *err) nonnull_all;

/*
 * After the process ended, or when give_up_ns has passed (then it is killed): fills the outcome of
 * the case and empties the job. Returns 1 if there was no room for the job and it did not start; the
 * case is as before. Fails only for want of memory or a broken directory.
 */
must_use int suite_job_end(const struct suite_setup *setup, struct suite_job *job,
                           struct err *err) nonnull_all;
