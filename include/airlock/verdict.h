/*
 * verdict.h - the verdicts of a job and the exit codes of `airlock run`, for those who build on
 * airlock. Exactly one verdict per job, decided on the host. See docs/verdicts.md.
 */
#pragma once

enum airlock_verdict {
    AIRLOCK_SUCCESS = 0,
    AIRLOCK_USER_EXCEPTION = 1,    /* exit code other than 0, or a fatal signal */
    AIRLOCK_REJECTED = 2,          /* nothing started: specification, inputs, image or engine */
    AIRLOCK_TIMEOUT = 3,           /* reason "wall" or "cpu" */
    AIRLOCK_OOM = 4,               /* reason "guest" or "host" */
    AIRLOCK_OUTPUT_OVERFLOW = 5,   /* reason "stdout", "stderr", "output_bytes", "output_files" */
    AIRLOCK_OUTPUT_REJECTED = 6,   /* exit 0, but the outputs break their contract */
    AIRLOCK_SANDBOX_FAILURE = 7,   /* monitor, boot, protocol: reason is the phase */
    AIRLOCK_CAPACITY_REJECTED = 8, /* nothing started: no room now, safe to retry */
    AIRLOCK_CANCELED = 9,          /* the caller asked */
};

/* The exit code of `airlock run` is the verdict's number (2 also for a wrong command line). */
