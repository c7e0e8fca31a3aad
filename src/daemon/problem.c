#include "daemon/problem.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "job/json-build.h"

static const struct row {
    unsigned int status;
    const char *type, *title;
} rows[PROBLEMS] = {
    [PROBLEM_BAD_REQUEST] = {400, "bad-request", "The request is not well-formed"},
    [PROBLEM_BAD_JOB] = {400, "bad-job", "The job is not well-formed"},
    [PROBLEM_BAD_PARAMETER] = {400, "bad-parameter", "A parameter is wrong"},
    [PROBLEM_UNAUTHORIZED] = {401, "unauthorized", "A valid token is needed"},
    [PROBLEM_FORBIDDEN] = {403, "forbidden", "A quota does not allow this"},
    [PROBLEM_ORIGIN] = {403, "origin", "Pages of a browser may not ask"},
    [PROBLEM_NOT_FOUND] = {404, "not-found", "There is no such thing"},
    [PROBLEM_METHOD] = {405, "method-not-allowed", "The path does not take this method"},
    [PROBLEM_TIMEOUT] = {408, "request-timeout", "The request took too long"},
    [PROBLEM_CONFLICT] = {409, "conflict", "The job's state does not allow this"},
    [PROBLEM_TOO_LARGE] = {413, "too-large", "The request is too large"},
    [PROBLEM_MEDIA_TYPE] = {415, "media-type", "The body's type is not taken"},
    [PROBLEM_RANGE] = {416, "range", "The range is not there"},
    [PROBLEM_EXPECTATION] = {417, "expectation", "The expectation can't be met"},
    [PROBLEM_MISDIRECTED] = {421, "misdirected", "The request is for another server"},
    [PROBLEM_KEY_REUSED] = {422, "key-reused", "The idempotency key was used for another job"},
    [PROBLEM_DEADLINE] = {422, "deadline", "The job can't start before its deadline"},
    [PROBLEM_RATE] = {429, "rate-limited", "Too many jobs in a short time"},
    [PROBLEM_TENANT_QUEUE] = {429, "tenant-queue-full", "Too many of your jobs wait"},
    [PROBLEM_WAITING] = {429, "too-many-waiting", "Too many of your requests wait"},
    [PROBLEM_HEADERS_TOO_LARGE] = {431, "headers-too-large", "The request's head is too large"},
    [PROBLEM_INTERNAL] = {500, "internal", "The server failed"},
    [PROBLEM_NOT_IMPLEMENTED] = {501, "not-implemented", "This is not implemented"},
    [PROBLEM_BUSY] = {503, "busy", "The server has no room for this request now"},
    [PROBLEM_QUEUE_FULL] = {503, "queue-full", "The server's queue is full"},
    [PROBLEM_DRAINING] = {503, "draining", "The server is about to stop"},
    [PROBLEM_NOT_READY] = {503, "not-ready", "The server takes no jobs now"},
    [PROBLEM_VERSION] = {505, "version", "The protocol's version is not spoken"},
};

int problem_set(struct refusal *ret, enum problem problem, const char *field, const char *fmt, ...)
{
    va_list args;

    ret->status = rows[problem].status;
    ret->type = rows[problem].type;
    ret->retry_after_s = 0;
    (void)snprintf(ret->field, sizeof(ret->field), "%s", field);
    va_start(args, fmt);
    (void)vsnprintf(ret->detail, sizeof(ret->detail), fmt, args);
    va_end(args);
    return -EINVAL;
}

int problem_set_err(struct refusal *ret, enum problem usage, const char *field,
                    const struct err *err)
{
    if (err->class == ERR_USAGE) {
        return problem_set(ret, usage, field, "%s", err->msg);
    }
    return problem_set(ret, PROBLEM_INTERNAL, "", "the server could not do this; its log says why");
}

const char *problem_type(enum problem problem)
{
    return rows[problem].type;
}

unsigned int problem_status(enum problem problem)
{
    return rows[problem].status;
}

const char *problem_reason(unsigned int status)
{
    static const struct {
        unsigned int status;
        const char *reason;
    } reasons[] = {
        {200, "OK"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {416, "Range Not Satisfiable"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (reasons[i].status == status) {
            return reasons[i].reason;
        }
    }
    return status < 500 ? "Refused" : "Failed";
}

/* Types of others than this table get the reason of their status. */
static const char *title_of(const struct refusal *refusal)
{
    for (size_t i = 0; i < PROBLEMS; i++) {
        if (rows[i].status == refusal->status && strcmp(rows[i].type, refusal->type) == 0) {
            return rows[i].title;
        }
    }
    return problem_reason(refusal->status);
}

int problem_json(const struct refusal *refusal, struct buf *out)
{
    struct builder b = {0};
    json_t *root = json_object();
    char type[160];

    assert(refusal->status != 0 && refusal->type != NULL);
    (void)snprintf(type, sizeof(type), "urn:airlock:problem:%s", refusal->type);
    set(&b, root, "type", json_string(type));
    set(&b, root, "title", json_string(title_of(refusal)));
    set(&b, root, "status", integer(refusal->status));
    set(&b, root, "detail", printable(refusal->detail));
    if (refusal->field[0] != '\0') {
        set(&b, root, "field", printable(refusal->field));
    }
    if (refusal->retry_after_s > 0) {
        set(&b, root, "retry_after_s", integer(refusal->retry_after_s));
    }
    return json_finish(&b, root, out);
}
