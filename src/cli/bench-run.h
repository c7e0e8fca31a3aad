/*
 * bench-run.h - one measured job: a clone by `airlock run`, as a user would start it.
 *
 * Each clone is a process of its own, of this very executable, from its start to its end: what a
 * caller waits for. Programs, inputs and outputs are files of one temporary directory.
 */
#pragma once

#include <jansson.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "cli/bench-work.h"
#include "cli/suite-limits.h"
#include "sys/proc.h"

/* What a job's time is made of, in this order. */
enum bench_part {
    BENCH_IMAGE,    /* engine chosen, image opened and verified, a slot taken */
    BENCH_STAGE,    /* inputs and scratch made */
    BENCH_TEMPLATE, /* the saved state found and verified, or built */
    BENCH_CLONE,    /* control groups and jail made, up to the exec of the monitor */
    BENCH_READY,    /* the monitor starts, and its machine goes on from the saved state */
    BENCH_START,    /* in the guest: job taken, limits and mounts made, program started */
    BENCH_RUN,      /* the program itself */
    BENCH_COLLECT,  /* outputs sent */
    BENCH_INSPECT,  /* outputs parsed and exported */
    BENCH_DESTROY,  /* machine killed, everything removed, the proof of it made */
    BENCH_AROUND,   /* before and after the supervisor: our own start, the result printed */
    BENCH_PARTS
};

const char *bench_part_name(enum bench_part part);

struct bench_sample {
    uint64_t wall_ns; /* from the request to the result, cleanup verified */
    uint64_t cpu_ns;  /* all processes of the job together; 0: not told */
    uint64_t part_ns[BENCH_PARTS];
    uint64_t template_ns; /* since submission, for a template that was built */
    bool template_built;
    bool warm; /* the interpreter had been started before the job */
};

/*
 * Splits the phases of a result; what a result (NULL: none) does not name took no time. wall_ns is set
 * before.
 */
void bench_parts(const json_t *result, struct bench_sample *sample) nonnull_args(2);

/*
 * Is it a success with its line on stdout and a verified cleanup? Else why gets a sentence.
 * False also when out of memory.
 */
must_use bool bench_is_good(const json_t *result, const struct buf *line, struct buf *why)
    nonnull_args(2, 3);

struct bench_setup {
    const char *state;  /* --state; NULL = the default */
    const char *engine; /* its name */
    char dir[256];      /* ours, below $TMPDIR or /tmp */
    int dirfd;
    struct buf lines[BENCH_WORKS]; /* what each must print */
};

#define BENCH_LINE_MAX 256u
#define BENCH_SETUP_INIT              \
    {                                 \
        .dirfd = -1, .lines = {       \
            BUF_INIT(BENCH_LINE_MAX), \
            BUF_INIT(BENCH_LINE_MAX), \
            BUF_INIT(BENCH_LINE_MAX)  \
        }                             \
    }

/* Makes the directory with programs and inputs; the destructor removes it. */
must_use int bench_setup_init(struct bench_setup *setup, struct err *err) nonnull_all;
void bench_setup_fini(struct bench_setup *setup) nonnull_all;

struct bench_kind {
    enum bench_work work;
    enum spec_language language;
};

struct bench_job {
    struct proc proc;
    int out_fd;
    unsigned int place; /* jobs at one time have different ones, for their outputs */
    uint64_t start_ns;
};

#define BENCH_JOB_INIT                  \
    {                                   \
        .proc = PROC_INIT, .out_fd = -1 \
    }
void bench_job_fini(struct bench_job *job) nonnull_all;
#define auto_bench_job on_scope_exit(bench_job_fini)

/* The command line of a job: /proc/self/exe run OPTIONS PROGRAM ARGS. Its outputs have a directory for this place. */
must_use int bench_words(const struct bench_setup *setup, struct bench_kind kind,
                         unsigned int place, struct suite_words *ret, struct err *err) nonnull_all;

/* Starts `airlock run`; the caller may wait on proc.pidfd. job->place is set before. */
must_use int bench_job_start(const struct bench_setup *setup, struct bench_kind kind,
                             struct bench_job *job, struct err *err) nonnull_all;
/*
 * Waits for its end. 1: it was no success, and why says what came instead. cpu_ns is right only if no
 * other child ended meanwhile.
 */
must_use int bench_job_end(const struct bench_setup *setup, struct bench_kind kind,
                           struct bench_job *job, struct bench_sample *ret, struct buf *why,
                           struct err *err) nonnull_all;

/* CPU time of all children reaped so far and of their reaped children, in ns. */
uint64_t bench_children_cpu_ns(void);
