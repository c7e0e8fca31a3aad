/* run-options.h - the command line of `airlock run` as a job specification. */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "cli/http.h"
#include "cli/opt.h"
#include "job/spec.h"

#define RUN_LIMITS_MAX 24u
#define RUN_HELP_MAX   160u

enum run_exit_code {
    RUN_EXIT_VERDICT,
    RUN_EXIT_PROGRAM
};

/* What `airlock submit` has beside the job. Texts are borrowed from argv. */
struct run_remote {
    struct http_config http;
    const char *key; /* Idempotency-Key */
    unsigned int priority;
    bool has_priority;
    uint64_t deadline_ms; /* from now; 0 = none */
    bool wait;
};

struct run_options {
    struct spec spec;
    const char *spec_file; /* --spec; borrowed from argv, as the following */
    const char *state;
    bool json;
    bool quiet;
    enum run_exit_code exit_code;
    bool exit_code_given;
    struct run_remote remote;

    /* While parsing. */
    const char *job_option; /* the first option met that describes the job, which --spec excludes */
    struct err fault;       /* the first value that is no valid specification */
    char help[RUN_LIMITS_MAX][RUN_HELP_MAX];
    struct opt table[OPT_MAX];
    struct opt_cmd cmd;
};

/* Builds the table of options; spec gets its defaults. */
void run_options_init(struct run_options *o) nonnull_all;
/* The same job for a daemon: the table of `airlock submit`. */
void run_options_init_remote(struct run_options *o) nonnull_all;
void run_options_fini(struct run_options *o) nonnull_all;
#define auto_run_options on_scope_exit(run_options_fini)

/*
 * Parses argv (from "run" on). True: go on, but look at fault first: a mistake in a value rejects
 * the job like any other flaw of its specification. False: exit with *ret_exit.
 * Values of --env are wiped from argv, so that /proc/PID/cmdline does not show them.
 */
must_use bool run_options_parse(struct run_options *o, int argc, char **argv,
                                int *ret_exit) nonnull_all;
