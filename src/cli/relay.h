/*
 * relay.h - a job that a daemon runs, heard as if a supervisor of our own ran it.
 *
 * relay_start() forks a process that speaks HTTP and answers on a socket as a supervisor does
 * (sup/sup.h): stdout and stderr as they come, phases, then the one result. So the loop of `airlock
 * run` serves both. It holds on to the job through broken connections, and when its caller asks for
 * the end or dies it has the daemon cancel the job, as a supervisor would.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "cli/http.h"
#include "cli/remote.h"
#include "job/spec.h"
#include "sup/sup.h"

/* SUP_PHASE with the id behind it: the daemon has the job. Other phases are its states. */
#define RELAY_ACCEPTED "accepted "

struct relay_job {
    const struct http_config *http;
    const struct remote_body *body; /* what to submit; NULL: follow the job id */
    const char *id;
    const char *out_dir;              /* where outputs go; NULL = nowhere */
    const struct spec_limits *limits; /* caps on them */
    bool streaming;                   /* as in sup_start(): the program's output comes as events */
    bool cancels; /* the caller's end is the job's end; else only the following ends */
};

/*
 * All of job is used by the child alone. What fails there comes as a result: rejected,
 * capacity_rejected or sandbox_failure with reason "daemon".
 */
must_use int relay_start(const struct relay_job *job, struct sup *ret, struct err *err) nonnull_all;
