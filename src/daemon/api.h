/* api.h - the handlers of the routes, and what they share. */
#pragma once

#include <jansson.h>

#include "base/base.h"

#include "daemon/call.h"
#include "daemon/service.h"

/* One after the other as in the table of routes (route.c). */
call_handler api_submit, api_list, api_get, api_cancel, api_purge, api_stdout, api_stderr,
    api_output, api_record, api_events, api_images, api_capacity, api_healthz, api_readyz,
    api_metrics, api_openapi;

#define API_INLINE_MAX (1 * MIB) /* a stream up to this stands in the result itself */

/* Of a result.json, which the caps bound (OUTPUTS_NAMES_BYTES); larger ones are the host's fault. */
#define API_RESULT_MAX (64 * MIB)

/* The job as the API shows it, without its result. NULL: no memory. */
json_t *api_job_json(const struct job_info *info) nonnull_all;
/*
 * The same as text, with the member "result" if it has ended: result.json with the streams filled in
 * (null if there is none any more). The call holds its memory (call_hold()): where there is no room
 * for the streams they stay null, as those over API_INLINE_MAX do; 1 if there is none for the
 * result either. The caller frees *ret.
 */
must_use int api_job_text(struct call *call, const struct job_info *info, char **ret,
                          struct err *err) nonnull_all;
/* {"encoding":"utf8"|"base64","data":...}. NULL: no memory. */
json_t *api_data_json(const void *data, size_t len) nonnull_args(1);
/* A negative return of the service as a refusal: ERR_USAGE/-ENOENT is 404, -EBUSY 409. */
must_use int api_refuse(int r, const struct err *err, struct refusal *ret_refusal) nonnull_all;
