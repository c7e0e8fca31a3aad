#include "daemon/reply.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

static int no_memory(struct err *err)
{
    return err_set(err, ERR_HOST, ENOMEM, "make an answer: out of memory");
}

void reply_drop(struct reply *r)
{
    if (r->response != NULL) {
        MHD_destroy_response(STEAL_PTR(&r->response));
    }
}

int reply_header(struct reply *r, const char *name, const char *value, struct err *err)
{
    return MHD_add_response_header(r->response, name, value) == MHD_YES ? 0 : no_memory(err);
}

/* Takes response; what every answer says. */
static int finish(struct reply *ret, unsigned int status, const char *type,
                  struct MHD_Response *response, struct err *err)
{
    auto_reply struct reply made = {.status = status, .response = response};
    int r = 0;

    if (response == NULL) {
        return no_memory(err);
    }
    if (type[0] != '\0') {
        r = reply_header(&made, "Content-Type", type, err);
    }
    if (r == 0) {
        r = reply_header(&made, "X-Content-Type-Options", "nosniff", err);
    }
    if (r == 0) {
        r = reply_header(&made, "Cache-Control", "no-store", err);
    }
    if (r == 0) {
        r = reply_header(&made, "Content-Security-Policy", "default-src 'none'", err);
    }
    if (r == 0) {
        *ret = STEAL(&made, (struct reply)REPLY_INIT);
    }
    return r;
}

int reply_bytes(struct reply *ret, unsigned int status, const char *type, const void *data,
                size_t len, struct err *err)
{
    union {
        const void *in;
        void *out;
    } bytes = {.in = data}; /* MHD copies; its prototype does not say so */

    int r = finish(ret, status, type,
                   MHD_create_response_from_buffer(len, bytes.out, MHD_RESPMEM_MUST_COPY), err);

    if (r == 0) {
        ret->bytes = len;
    }
    return r;
}

int reply_constant(struct reply *ret, unsigned int status, const char *type, const void *data,
                   size_t len, struct err *err)
{
    union {
        const void *in;
        void *out;
    } bytes = {.in = data};

    return finish(ret, status, type,
                  MHD_create_response_from_buffer(len, bytes.out, MHD_RESPMEM_PERSISTENT), err);
}

int reply_text(struct reply *ret, unsigned int status, char *take_text, struct err *err)
{
    size_t len = strlen(take_text);
    struct MHD_Response *response =
        MHD_create_response_from_buffer_with_free_callback(len, take_text, free);
    int r = 0;

    if (response == NULL) {
        free(take_text);
    }
    r = finish(ret, status, "application/json", response, err);
    if (r == 0) {
        ret->bytes = len;
    }
    return r;
}

int reply_json(struct reply *ret, unsigned int status, const json_t *json, struct err *err)
{
    char *text = json_dumps(json, JSON_COMPACT);

    return text != NULL ? reply_text(ret, status, text, err) : no_memory(err);
}

int reply_problem(struct reply *ret, const struct refusal *refusal, struct err *err)
{
    auto_buf struct buf text = BUF_INIT(16 * KIB);
    auto_reply struct reply made = REPLY_INIT;
    char seconds[24];
    int r = 0;

    if (problem_json(refusal, &text) < 0) {
        return no_memory(err);
    }
    r = reply_bytes(&made, refusal->status, "application/problem+json", text.data, text.len, err);
    if (r == 0 && refusal->retry_after_s > 0) {
        (void)snprintf(seconds, sizeof(seconds), "%" PRIu64, refusal->retry_after_s);
        r = reply_header(&made, "Retry-After", seconds, err);
    }
    if (r == 0 && refusal->status == problem_status(PROBLEM_UNAUTHORIZED)) {
        r = reply_header(&made, "WWW-Authenticate", "Bearer realm=\"airlock\"", err);
    }
    if (r == 0) {
        *ret = STEAL(&made, (struct reply)REPLY_INIT);
    }
    return r;
}

int reply_empty(struct reply *ret, unsigned int status, struct err *err)
{
    return reply_constant(ret, status, "", "", 0, err);
}

/* One end of a range: digits up to `end`. True if it is a number. */
static bool range_number(const char *text, size_t len, uint64_t *ret)
{
    char digits[24];

    if (len == 0 || len >= sizeof(digits)) {
        return false;
    }
    memcpy(digits, text, len);
    digits[len] = '\0';
    return num_parse_u64(digits, ret) == 0;
}

/* 1: *ret_from to *ret_to (both in the file); 0: no range that counts; -ERANGE. */
static int parse_range(const char *range, uint64_t total, uint64_t *ret_from, uint64_t *ret_to)
{
    const char *from = NULL;
    const char *dash = NULL;
    uint64_t a = 0;
    uint64_t b = UINT64_MAX;

    if (range == NULL || strncmp(range, "bytes=", 6) != 0) {
        return 0;
    }
    from = range + 6;
    dash = strchr(from, '-');
    if (dash == NULL || (dash[1] != '\0' && !range_number(dash + 1, strlen(dash + 1), &b))) {
        return 0;
    }
    if (dash == from) { /* the last b bytes */
        if (dash[1] == '\0') {
            return 0;
        }
        if (b == 0 || total == 0) {
            return -ERANGE;
        }
        *ret_from = b < total ? total - b : 0;
        *ret_to = total - 1;
        return 1;
    }
    if (!range_number(from, (size_t)(dash - from), &a) || b < a) {
        return 0;
    }
    if (a >= total) {
        return -ERANGE;
    }
    *ret_from = a;
    *ret_to = b < total ? b : total - 1;
    return 1;
}

int reply_file(struct reply *ret, int *take_fd, uint64_t total, const char *range,
               struct refusal *ret_refusal, struct err *err)
{
    auto_reply struct reply made = REPLY_INIT;
    struct MHD_Response *response = NULL;
    uint64_t from = 0;
    uint64_t to = total - 1; /* with no bytes at all nothing looks at it */
    int ranged = parse_range(range, total, &from, &to);
    uint64_t len = total == 0 ? 0 : to - from + 1;
    char text[96];
    int r = 0;

    if (ranged < 0) {
        return problem_set(ret_refusal, PROBLEM_RANGE, "Range",
                           "there are %" PRIu64 " bytes now; the range begins behind them", total);
    }
    response = MHD_create_response_from_fd_at_offset64(len, *take_fd, from);
    if (response == NULL) {
        return no_memory(err);
    }
    *take_fd = -1;
    r = finish(&made, ranged > 0 ? 206 : 200, "application/octet-stream", response, err);
    if (r == 0) {
        r = reply_header(&made, "Content-Disposition", "attachment", err);
    }
    if (r == 0) {
        r = reply_header(&made, "Accept-Ranges", "bytes", err);
    }
    if (r == 0 && ranged > 0) {
        (void)snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, from, to,
                       total);
        r = reply_header(&made, "Content-Range", text, err);
    }
    if (r == 0) {
        *ret = STEAL(&made, (struct reply)REPLY_INIT);
    }
    return r;
}

int reply_stream(struct reply *ret, const char *type, MHD_ContentReaderCallback fn, void *ctx,
                 size_t block, struct err *err)
{
    return finish(ret, 200, type,
                  MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, block, fn, ctx, NULL), err);
}
