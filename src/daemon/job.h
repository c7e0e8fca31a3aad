/*
 * job.h - a job as the service knows it: words that the queue, the store and the API share.
 *
 * A job is accepted, waits, runs in one or more machines (a machine that failed before the program
 * started is tried again), and ends with exactly one verdict.  Its bytes are in a directory of its
 * own (jobfiles.h), everything else about it is a struct job_info.
 */
#pragma once

#include "base/base.h"

#define JOB_ID_SIZE      33  /* 32 hex digits of a random 128-bit number, with the NUL */
#define JOB_KEY_SIZE     129 /* Idempotency-Key: 1 to 128 printable ASCII characters */
#define JOB_TENANT_SIZE  65  /* a-z 0-9 '-' '_' '.', first a letter or digit */
#define JOB_REASON_SIZE  65
#define JOB_PRIORITY_MAX 9 /* 0 to 9; 5 if none is given, more is sooner */
#define JOB_PRIORITY     5

enum job_state {
    JOB_QUEUED,   /* accepted; nothing of it runs */
    JOB_STARTING, /* a machine was asked for; the program has not started */
    JOB_RUNNING,  /* the program started */
    JOB_ENDED,    /* it has its verdict and its result */
};

struct job_info {
    char id[JOB_ID_SIZE];
    char tenant[JOB_TENANT_SIZE];
    char reason[JOB_REASON_SIZE]; /* of the verdict; may be "" */
    char machine_id[JOB_ID_SIZE]; /* of the last machine, its record's name; "" = none */
    bool cancel;                  /* somebody asked for its end */
    bool purged;                  /* its directory is gone: retention, or on request */
    enum job_state state;
    unsigned int priority;
    unsigned int attempts;                     /* machines that were asked for */
    int verdict;                               /* enum airlock_verdict; -1 until it has ended */
    uint64_t created_ms, started_ms, ended_ms; /* real time since 1970; 0 = not yet */
    uint64_t deadline_ms;                      /* real time: start by then, or never; 0 = none */
    uint64_t kept_bytes;                       /* in its directory */
};

/* "queued", "starting", "running", "ended". */
const char *job_state_name(enum job_state state);
/* True for 32 lower-case hex digits, as unique_id() makes: the only form that may be looked up. */
must_use bool job_id_ok(const char *id) nonnull_all;
