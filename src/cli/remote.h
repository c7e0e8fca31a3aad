/*
 * remote.h - a daemon's API, from the client's side: its answers as checked values.
 *
 * A daemon that answers with something else than what docs/airlockd.md says is an error
 * (ERR_HOST/-EPROTO); its refusals (problem documents) become ERR_USAGE for what the caller can
 * mend, ERR_LIMIT for what may be tried later, with the daemon's own words, made harmless.
 */
#pragma once

#include <jansson.h>

#include "base/base.h"
#include "base/err.h"

#include "airlock/verdict.h"
#include "cli/http.h"
#include "job/spec.h"

#define REMOTE_ID_SIZE 33u

enum remote_state {
    REMOTE_QUEUED,
    REMOTE_STARTING,
    REMOTE_RUNNING,
    REMOTE_ENDED,
};

/* A job object. */
struct remote_job {
    char id[REMOTE_ID_SIZE]; /* 32 lower-case hex digits */
    enum remote_state state;
    int verdict;  /* enum airlock_verdict; -1 = not ended */
    json_t *json; /* all of it */
};

#define REMOTE_JOB_INIT \
    {                   \
        .verdict = -1   \
    }
void remote_job_fini(struct remote_job *job) nonnull_all;
#define auto_remote_job on_scope_exit(remote_job_fini)

/* "queued", ... */
const char *remote_state_name(enum remote_state state) nonnull_all;
/* The one form in which an id may become part of a path. */
must_use bool remote_id_ok(const char *id) nonnull_all;
/* ERR_USAGE with a sentence if not. */
must_use int remote_check_id(const char *id, struct err *err) nonnull_all;

/* Text of a job object, from an answer or an event. */
must_use int remote_job_read(const void *text, size_t len, struct remote_job *ret,
                             struct err *err) nonnull_all;
/* The same of parsed JSON; *ret has its own reference. */
must_use int remote_job_take(json_t *json, struct remote_job *ret, struct err *err)
    nonnull_args(2, 3);
/* The result of `airlock run --json` in it, or NULL (borrowed). */
json_t *remote_job_result(const struct remote_job *job) nonnull_all;

/* err from an answer that is no success. Returns -errno. */
int remote_refused(const struct http *h, const struct http_answer *answer,
                   struct err *err) nonnull_all;

/* What belongs to a submission beside its specification. */
struct remote_terms {
    unsigned int priority;
    bool has_priority;
    uint64_t deadline_ms; /* 0 = none */
    const char *key;      /* Idempotency-Key, or NULL */
};

/* A specification as a request: JSON, and bytes that go as parts of a form. */
struct remote_body {
    char *json; /* NUL-terminated; wiped when freed, since it holds values of variables */
    struct http_part *parts; /* borrow from the spec and json */
    size_t n_parts;
    const char *key; /* of the terms; borrowed */
};

void remote_body_fini(struct remote_body *body) nonnull_all;
#define auto_remote_body on_scope_exit(remote_body_fini)

/* spec: checked, all of it inline (job/inline.h); it outlives *ret. */
must_use int remote_body_build(const struct spec *spec, const struct remote_terms *terms,
                               struct remote_body *ret, struct err *err) nonnull_all;

/*
 * Submits. What failed before an answer came is tried again a few times under the same key (one is
 * made if the terms had none), so that the job is accepted once. turn and ctx: as in http_request.
 */
must_use int remote_submit(struct http *h, const struct remote_body *body, http_turn_fn *turn,
                           void *ctx, struct remote_job *ret, struct err *err)
    nonnull_args(1, 2, 5, 6);
must_use int remote_get(struct http *h, const char *id, struct remote_job *ret,
                        struct err *err) nonnull_all;
/* Any GET that answers with an object. The caller owns *ret. */
must_use int remote_get_json(struct http *h, const char *path, json_t **ret,
                             struct err *err) nonnull_all;
/* 0: it has ended, *ret is how; 1: it was asked to; -EALREADY (ERR_USAGE): it had ended before. */
must_use int remote_cancel(struct http *h, const char *id, struct err *err) nonnull_all;
