/*
 * problem.h - why a request is refused, in one vocabulary: struct refusal in, RFC 9457 out.
 *
 * Every refusal, whoever found it, is made here from a name of the table in problem.c; so a status
 * and a title never differ between two places.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "daemon/service.h"

enum problem {
    PROBLEM_BAD_REQUEST,       /* 400 bad-request: the HTTP request itself */
    PROBLEM_BAD_JOB,           /* 400 bad-job: the job's document; field names the member */
    PROBLEM_BAD_PARAMETER,     /* 400 bad-parameter: field names the query parameter or header */
    PROBLEM_UNAUTHORIZED,      /* 401 unauthorized */
    PROBLEM_FORBIDDEN,         /* 403 forbidden: a quota says no; field names what */
    PROBLEM_ORIGIN,            /* 403 origin: a page of a browser asks */
    PROBLEM_NOT_FOUND,         /* 404 not-found */
    PROBLEM_METHOD,            /* 405 method-not-allowed */
    PROBLEM_TIMEOUT,           /* 408 request-timeout */
    PROBLEM_CONFLICT,          /* 409 conflict: the job's state does not allow it */
    PROBLEM_TOO_LARGE,         /* 413 too-large */
    PROBLEM_MEDIA_TYPE,        /* 415 media-type */
    PROBLEM_RANGE,             /* 416 range */
    PROBLEM_EXPECTATION,       /* 417 expectation */
    PROBLEM_MISDIRECTED,       /* 421 misdirected: Host names another server */
    PROBLEM_KEY_REUSED,        /* 422 key-reused: Idempotency-Key with another body */
    PROBLEM_DEADLINE,          /* 422 deadline: can't start before it */
    PROBLEM_RATE,              /* 429 rate-limited: jobs per minute */
    PROBLEM_TENANT_QUEUE,      /* 429 tenant-queue-full */
    PROBLEM_WAITING,           /* 429 too-many-waiting: calls of one tenant that wait */
    PROBLEM_HEADERS_TOO_LARGE, /* 431 headers-too-large */
    PROBLEM_INTERNAL,          /* 500 internal */
    PROBLEM_NOT_IMPLEMENTED,   /* 501 not-implemented: a method or coding nobody knows here */
    PROBLEM_BUSY,              /* 503 busy: too many or too large requests at once */
    PROBLEM_QUEUE_FULL,        /* 503 queue-full: of the host */
    PROBLEM_DRAINING,          /* 503 draining */
    PROBLEM_NOT_READY,         /* 503 not-ready */
    PROBLEM_VERSION,           /* 505 version */
    PROBLEMS,
};

/*
 * Fills *ret. field "" = none. The text is ours and never quotes a value. retry_after_s is 0; set it
 * afterwards. Returns -EINVAL always, so that it can be returned directly.
 */
int problem_set(struct refusal *ret, enum problem problem, const char *field, const char *fmt, ...)
    printf_like(4, 5) nonnull_all;

/* From an error: USAGE by the given problem; else 500 without its text, which is the host's. */
int problem_set_err(struct refusal *ret, enum problem usage, const char *field,
                    const struct err *err) nonnull_all;

/* "bad-job" */
const char *problem_type(enum problem problem);
unsigned int problem_status(enum problem problem);
/* Of a status ("Not Found"); never NULL. */
const char *problem_reason(unsigned int status);

/* Appends the document (application/problem+json, one line). 0, -ENOBUFS or -ENOMEM. */
must_use int problem_json(const struct refusal *refusal, struct buf *out) nonnull_all;
