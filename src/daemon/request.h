/*
 * request.h - the body of POST /v1/jobs, as JSON or as multipart/form-data, to a checked job.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "daemon/problem.h"
#include "daemon/service.h"

/* JSON is parsed in one piece on the daemon's only thread, so it may not be as large as files. */
#define REQUEST_JSON_MAX (16 * MIB)

/* What a body of that type may have; max: of the configuration. type may be NULL. */
uint64_t request_body_max(const char *type, uint64_t max);

/*
 * Fills job->spec, priority, deadline_ms and body (the digest); key stays. type: the Content-Type
 * header, or NULL. On failure -EINVAL with *ret_refusal, or another errno with err; the spec is freed
 * by the caller in every case.
 */
must_use int request_job(const char *type, const uint8_t *body, size_t len, struct service_job *job,
                         struct refusal *ret_refusal, struct err *err) nonnull_args(2, 4, 5, 6);

/* An empty one: default limits, priority and no deadline. */
void service_job_init(struct service_job *job) nonnull_all;
void service_job_fini(struct service_job *job) nonnull_all;
#define auto_service_job on_scope_exit(service_job_fini)
