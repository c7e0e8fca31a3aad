#include "cli/sse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

#define LINE_MAX_BYTES (SSE_DATA_MAX + 64)

void sse_init(struct sse *s, uint64_t last_id, sse_take_fn *take, void *ctx)
{
    *s = (struct sse){.take = take,
                      .ctx = ctx,
                      .id = last_id,
                      .line = BUF_INIT(LINE_MAX_BYTES),
                      .data = BUF_INIT(SSE_DATA_MAX)};
}

void sse_fini(struct sse *s)
{
    buf_fini(&s->line);
    buf_fini(&s->data);
}

static int broken(struct sse *s, const char *what, struct err *err)
{
    s->broken = true;
    return err_set(err, ERR_HOST, EPROTO, "the daemon's event stream is broken: %s", what);
}

static int put(struct sse *s, struct buf *buf, const void *data, size_t len, struct err *err)
{
    int r = buf_put(buf, data, len);

    if (r == -ENOBUFS) {
        return broken(s, "an event is too long", err);
    }
    return r < 0 ? err_set(err, ERR_HOST, ENOMEM, "out of memory for an event") : 0;
}

/* An empty line: the event is complete. */
static int dispatch(struct sse *s, struct err *err)
{
    struct sse_event event = {.id = s->id};
    bool real = s->has_data;
    int r = 0;

    (void)snprintf(event.name, sizeof(event.name), "%s", s->name[0] != '\0' ? s->name : "message");
    event.data = s->data.data;
    event.len = s->data.len;
    r = real ? s->take(s->ctx, &event, err) : 0; /* without data it is none, says the standard */
    s->has_data = false;
    s->name[0] = '\0';
    s->data.len = 0;
    if (s->data.cap > MIB) { /* results are rare; small events shall not hold their memory */
        buf_fini(&s->data);
        s->data = (struct buf)BUF_INIT(SSE_DATA_MAX);
    }
    return r;
}

static int take_id(struct sse *s, const char *value, size_t len, struct err *err)
{
    uint64_t id = 0;

    if (strlen(value) != len || num_parse_u64(value, &id) < 0) {
        return broken(s, "the number of an event is none", err);
    }
    s->id = id;
    return 0;
}

static int take_name(struct sse *s, const char *value, size_t len, struct err *err)
{
    if (len >= sizeof(s->name) || strlen(value) != len) {
        return broken(s, "the name of an event is too long", err);
    }
    memcpy(s->name, value, len + 1);
    return 0;
}

/* Lines of data are joined by newlines. */
static int take_data(struct sse *s, const char *value, size_t len, struct err *err)
{
    int r = s->has_data ? put(s, &s->data, "\n", 1, err) : 0;

    s->has_data = true;
    return r == 0 && len > 0 ? put(s, &s->data, value, len, err) : r;
}

/* One whole line, in s->line. */
static int take_line(struct sse *s, struct err *err)
{
    const char *line = s->line.len > 0 ? (const char *)s->line.data : "";
    size_t len = s->line.len;
    const char *colon = memchr(line, ':', len);
    size_t field = colon != NULL ? (size_t)(colon - line) : len;
    const char *value = colon != NULL ? colon + 1 : line + len;
    size_t value_len = colon != NULL ? len - field - 1 : 0;

    if (len == 0) {
        return dispatch(s, err);
    }
    if (field == 0) {
        return 0; /* a comment: the server shows that it lives */
    }
    if (value_len > 0 && value[0] == ' ') {
        value++;
        value_len--;
    }
    if (field == 2 && memcmp(line, "id", 2) == 0) {
        return take_id(s, value, value_len, err);
    }
    if (field == 5 && memcmp(line, "event", 5) == 0) {
        return take_name(s, value, value_len, err);
    }
    if (field == 4 && memcmp(line, "data", 4) == 0) {
        return take_data(s, value, value_len, err);
    }
    return 0; /* "retry" and what later versions add */
}

static int end_line(struct sse *s, struct err *err)
{
    int r = 0;

    if (!s->begun && s->line.len >= 3 && memcmp(s->line.data, "\xef\xbb\xbf", 3) == 0) {
        buf_consume(&s->line, 3);
    }
    s->begun = true;
    r = take_line(s, err);
    s->line.len = 0;
    if (s->line.cap > MIB) {
        buf_fini(&s->line);
        s->line = (struct buf)BUF_INIT(LINE_MAX_BYTES);
    }
    return r;
}

static size_t to_line_end(const char *at, size_t len)
{
    size_t n = 0;

    while (n < len && at[n] != '\n' && at[n] != '\r') {
        n++;
    }
    return n;
}

int sse_feed(struct sse *s, const void *data, size_t len, struct err *err)
{
    const char *at = data;
    int r = s->broken ? broken(s, "it went on after a fault", err) : 0;

    while (r == 0 && len > 0) {
        size_t n = 0;

        if (s->after_cr && *at == '\n') {
            s->after_cr = false;
            at++;
            len--;
            continue;
        }
        s->after_cr = false;
        n = to_line_end(at, len);
        r = n > 0 ? put(s, &s->line, at, n, err) : 0;
        if (r == 0 && n < len) {
            s->after_cr = at[n] == '\r';
            r = end_line(s, err);
            n++;
        }
        at += n;
        len -= n;
    }
    if (r < 0) {
        s->broken = true;
    }
    return r;
}
