#include "daemon/api.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "daemon/jobfiles.h"
#include "job/json-build.h"
#include "job/verdict.h"
#include "sys/fd.h"

/* RFC 3339, UTC, milliseconds; null for 0. */
static json_t *time_json(uint64_t ms)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    char day[24];
    char text[40];

    if (ms == 0 || gmtime_r(&seconds, &tm) == NULL) {
        return json_null();
    }
    (void)strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(text, sizeof(text), "%s.%03uZ", day, (unsigned int)(ms % 1000));
    return json_string(text);
}

json_t *api_job_json(const struct job_info *info)
{
    struct builder b = {0};
    json_t *o = json_object();

    set(&b, o, "id", json_string(info->id));
    set(&b, o, "state", json_string(job_state_name(info->state)));
    set(&b, o, "tenant", json_string(info->tenant));
    set(&b, o, "priority", integer(info->priority));
    set(&b, o, "created", time_json(info->created_ms));
    set(&b, o, "started", time_json(info->started_ms));
    set(&b, o, "ended", time_json(info->ended_ms));
    set(&b, o, "deadline", time_json(info->deadline_ms));
    set(&b, o, "attempts", integer(info->attempts));
    set(&b, o, "machine_id", text_or_null(info->machine_id));
    set(&b, o, "verdict",
        info->verdict < 0 ? json_null()
                          : json_string(verdict_name((enum airlock_verdict)info->verdict)));
    set(&b, o, "reason", text_or_null(info->reason));
    set(&b, o, "kept_bytes", integer(info->kept_bytes));
    set(&b, o, "purged", json_boolean(info->purged));
    if (b.failed) {
        json_decref(o);
        return NULL;
    }
    return o;
}

json_t *api_data_json(const void *data, size_t len)
{
    struct builder b = {0};
    json_t *o = json_object();
    bool utf8 = str_is_utf8(data, len);

    set(&b, o, "encoding", json_string(utf8 ? "utf8" : "base64"));
    set(&b, o, "data", utf8 ? json_stringn(data, len) : json_base64(data, len));
    if (b.failed) {
        json_decref(o);
        return NULL;
    }
    return o;
}

/* The stream's member of the result gets its bytes, if they are all there and not many. */
static int fill_stream(json_t *result, const char *name, int dirfd, enum jobfiles_event_kind kind,
                       struct err *err)
{
    json_t *member = json_object_get(result, name);
    const json_t *bytes = json_object_get(member, "bytes");
    auto_free uint8_t *data = NULL;
    json_t *filled = NULL;
    size_t len = 0;
    size_t n = 0;

    if (!json_is_null(json_object_get(member, "data")) || !json_is_integer(bytes) ||
        json_integer_value(bytes) < 0 || (uint64_t)json_integer_value(bytes) > API_INLINE_MAX) {
        return 0;
    }
    len = (size_t)json_integer_value(bytes);
    data = malloc(len + 1);
    if (data == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "show a result: out of memory");
    }
    while (n < len) {
        ssize_t got = jobfiles_stream(dirfd, kind, n, data + n, len - n, err);

        if (got < 0) {
            return (int)got;
        }
        if (got == 0) {
            return err_set(err, ERR_HOST, EIO, "the job's %s is shorter than its result says",
                           name);
        }
        n += (size_t)got;
    }
    filled = api_data_json(data, len);
    if (filled == NULL || json_object_update(member, filled) < 0) {
        json_decref(filled);
        return err_set(err, ERR_HOST, ENOMEM, "show a result: out of memory");
    }
    json_decref(filled);
    return 0;
}

/* Of an ended job; *ret is null if nothing of it is kept. */
static int read_result(struct call *call, const struct job_info *info, bool streams, json_t **ret,
                       struct err *err)
{
    struct tenant tenant = call_tenant(call);
    auto_fd int dirfd = -1;
    auto_buf struct buf text = BUF_INIT(API_RESULT_MAX);
    json_t *json = NULL;
    json_error_t error;
    int r = 0;

    *ret = json_null();
    if (info->purged) {
        return 0;
    }
    r = service_files(call->o->service, &tenant, info->id, &dirfd, err);
    if (r == 0) {
        r = jobfiles_result(dirfd, &text, err);
    }
    if (r == -ENOENT && err->class == ERR_USAGE) {
        *err = (struct err)ERR_INIT; /* purged meanwhile, or it ended without any */
        return 0;
    }
    if (r < 0) {
        return r;
    }
    json = json_loadb((const char *)text.data, text.len, JSON_ALLOW_NUL, &error);
    if (json == NULL) {
        return err_set(err, ERR_HOST, EIO, "the job's result.json is not JSON");
    }
    if (streams) {
        r = fill_stream(json, "stdout", dirfd, JOBFILES_STDOUT, err);
    }
    if (r == 0 && streams) {
        r = fill_stream(json, "stderr", dirfd, JOBFILES_STDERR, err);
    }
    if (r < 0) {
        json_decref(json);
        return r;
    }
    *ret = json;
    return 0;
}

/* The job's text with its result; the call does not hold it yet. */
static int make_text(struct call *call, const struct job_info *info, bool streams, char **ret,
                     struct err *err)
{
    json_t *result = json_null();
    json_auto_t *o = api_job_json(info);
    int r = 0;

    if (info->state == JOB_ENDED) {
        r = read_result(call, info, streams, &result, err);
    }
    if (r < 0) {
        return r;
    }
    *ret = json_object_set_new(o, "result", result) == 0 ? json_dumps(o, JSON_COMPACT) : NULL;
    return *ret != NULL ? 0 : err_set(err, ERR_HOST, ENOMEM, "show a job: out of memory");
}

int api_job_text(struct call *call, const struct job_info *info, char **ret, struct err *err)
{
    for (unsigned int streams = 2; streams > 0; streams--) {
        auto_free char *text = NULL;
        int r = make_text(call, info, streams == 2, &text, err);

        if (r < 0) {
            return r;
        }
        if (call_hold(call, strlen(text))) {
            *ret = STEAL_PTR(&text);
            return 0;
        }
    }
    return 1;
}

int api_refuse(int r, const struct err *err, struct refusal *ret_refusal)
{
    if (err->class != ERR_USAGE) {
        return r;
    }
    if (r == -ENOENT) {
        return problem_set(ret_refusal, PROBLEM_NOT_FOUND, "", "%s", err->msg);
    }
    if (r == -EBUSY) {
        return problem_set(ret_refusal, PROBLEM_CONFLICT, "", "%s", err->msg);
    }
    return problem_set(ret_refusal, PROBLEM_BAD_REQUEST, "", "%s", err->msg);
}
