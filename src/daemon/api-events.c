/*
 * api-events.c - a job's events as they come: text/event-stream (HTML, 9.2).
 *
 * How it works: the library asks for bytes; they are made from the events file, one event at a time,
 * into one buffer that is given away before the next is looked at. When there is nothing the call
 * is suspended; news of the job and the heartbeat's timer resume it. So a reader that does not read
 * costs what its sockets hold, and one that is slow is behind, not a memory of the daemon.
 *
 * An event of a stream longer than EVENT_BYTES_MAX is sent in pieces; only the last has the id, so that
 * who resumes gets all of it again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

#include "daemon/api.h"
#include "daemon/jobfiles.h"
#include "sys/fd.h"

#define EVENT_BYTES_MAX (16 * KIB)
/* A result carries both streams, each up to API_INLINE_MAX, six bytes for one at worst. */
#define TEXT_BYTES_MAX (API_RESULT_MAX + 12 * API_INLINE_MAX)
#define BLOCK_BYTES    (16 * KIB)

struct stream {
    struct service_watch watch;
    struct call *call;
    struct event *heart;
    int dirfd;      /* owned */
    uint64_t after; /* the last event that was sent whole */
    uint64_t sent;  /* bytes of the next one */
    struct buf out; /* not yet given to the library */
    size_t out_at;
    bool beat;     /* a heartbeat is due */
    bool finished; /* the last event is in out, or was */
};

static void stream_free(void *state)
{
    struct stream *s = state;

    service_unwatch(&s->watch);
    if (s->heart != NULL) {
        event_free(s->heart);
    }
    fd_close_p(&s->dirfd);
    buf_fini(&s->out);
    free(s);
}

static void on_changed(struct service_watch *watch)
{
    struct stream *s = (struct stream *)((char *)watch - offsetof(struct stream, watch));

    call_resume(s->call);
}

static void on_heart(evutil_socket_t fd, short what, void *ctx)
{
    struct stream *s = ctx;

    (void)fd;
    (void)what;
    s->beat = true;
    call_resume(s->call);
}

/* seq 0: a piece, without id. text: JSON, or NULL: no memory. */
static int put_text(struct stream *s, uint64_t seq, const char *name, const char *text,
                    struct err *err)
{
    int r = text != NULL ? 0 : -ENOMEM;

    if (r == 0 && seq > 0) {
        r = buf_printf(&s->out, "id: %" PRIu64 "\n", seq);
    }
    if (r == 0) {
        r = buf_printf(&s->out, "event: %s\ndata: %s\n\n", name, text);
    }
    return r < 0
               ? err_set(err, ERR_HOST, -r, "send an event: it is too large or there is no memory")
               : 0;
}

/* Takes data. */
static int put_event(struct stream *s, uint64_t seq, const char *name, json_t *data,
                     struct err *err)
{
    auto_free char *text = data != NULL ? json_dumps(data, JSON_COMPACT) : NULL;

    json_decref(data);
    return put_text(s, seq, name, text, err);
}

static int put_stream(struct stream *s, const struct jobfiles_event *e, struct err *err)
{
    auto_free uint8_t *data = NULL;
    uint64_t left = e->len - s->sent;
    size_t want = left < EVENT_BYTES_MAX ? (size_t)left : EVENT_BYTES_MAX;
    ssize_t got = 0;
    bool last = false;
    int r = 0;

    data = malloc(want + 1);
    if (data == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "send an event: out of memory");
    }
    got = jobfiles_stream(s->dirfd, e->kind, e->offset + s->sent, data, want, err);
    if (got < 0) {
        return (int)got;
    }
    /* What the host had no room for is gone, and the result says so. */
    last = got == 0 || s->sent + (uint64_t)got == e->len;
    r = put_event(s, last ? e->seq : 0, e->kind == JOBFILES_STDOUT ? "stdout" : "stderr",
                  api_data_json(data, (size_t)got), err);
    s->sent = last ? 0 : s->sent + (uint64_t)got;
    s->after = last ? e->seq : s->after;
    return r;
}

/* Where there is no room for it now the stream ends before it: who resumes gets it then. */
static int put_result(struct stream *s, uint64_t seq, struct err *err)
{
    struct tenant tenant = call_tenant(s->call);
    auto_free char *text = NULL;
    struct job_info info;
    int r = service_get(s->call->o->service, &tenant, s->watch.id, &info, err);

    if (r == 0) {
        r = api_job_text(s->call, &info, &text, err);
    }
    if (r != 0) {
        return r == 1 ? 0 : r;
    }
    return put_text(s, seq, "result", text, err);
}

static int put_next(struct stream *s, const struct jobfiles_event *e, struct err *err)
{
    json_t *data = NULL;

    switch (e->kind) {
    case JOBFILES_STDOUT:
    case JOBFILES_STDERR:
        return put_stream(s, e, err);
    case JOBFILES_RESULT:
        s->finished = true;
        return put_result(s, e->seq, err);
    case JOBFILES_STATE:
        data = json_pack("{s:s}", "state", job_state_name((enum job_state)e->aux));
        s->after = e->seq;
        return put_event(s, e->seq, "state", data, err);
    }
    s->after = e->seq;
    return 0;
}

/* The next bytes into out. It stays empty if there is nothing now. */
static int fill(struct stream *s, struct err *err)
{
    struct jobfiles_event e;
    size_t n = 0;
    int r = 0;

    s->out_at = 0;
    s->out.len = 0;
    if (s->finished) {
        return 0;
    }
    if (s->beat && !call_still_allowed(s->call)) {
        s->finished = true; /* the token was revoked */
        return 0;
    }
    r = jobfiles_events(s->dirfd, s->after, &e, 1, &n, err);
    if (r == 0 && n > 0) {
        return put_next(s, &e, err);
    }
    if (r == 0 && s->beat) {
        s->beat = false;
        if (buf_printf(&s->out, ":\n\n") < 0) {
            return err_set(err, ERR_HOST, ENOMEM, "send a heartbeat: out of memory");
        }
    }
    return r;
}

/* Is it over without a result to come: ended before its events were to be read? */
static bool nothing_comes(const struct stream *s)
{
    struct tenant tenant = call_tenant(s->call);
    struct err err = ERR_INIT;
    struct job_info info;

    return service_get(s->call->o->service, &tenant, s->watch.id, &info, &err) < 0 ||
           info.state == JOB_ENDED;
}

static ssize_t on_bytes(void *ctx, uint64_t pos, char *out, size_t max)
{
    struct stream *s = ctx;
    struct err err = ERR_INIT;
    size_t n = 0;

    (void)pos;
    if (s->call->gone) {
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    if (s->out_at == s->out.len && fill(s, &err) < 0) {
        log_event(s->call->o->log, LOG_ERROR, "events-failed", s->watch.id,
                  LOG_TEXT("why", err.msg));
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    n = s->out.len - s->out_at;
    if (n == 0) {
        if (s->finished || nothing_comes(s)) {
            return MHD_CONTENT_READER_END_OF_STREAM;
        }
        call_suspend(s->call);
        return 0;
    }
    n = n < max ? n : max;
    memcpy(out, s->out.data + s->out_at, n);
    s->out_at += n;
    if (s->out_at == s->out.len && s->out.cap > EVENT_BYTES_MAX) {
        buf_fini(&s->out); /* a large one was sent: hold no more than an event */
        s->out = (struct buf)BUF_INIT(TEXT_BYTES_MAX);
        s->out_at = 0;
    }
    return (ssize_t)n;
}

/* Where to begin: Last-Event-ID wins over the parameter, as a browser that resumes sends both. */
static int parse_after(const struct call *call, uint64_t *ret, struct refusal *ret_refusal)
{
    const char *id = call_header(call, "Last-Event-ID");

    *ret = 0;
    if (id == NULL) {
        return query_u64(&call->query, "after", 0, INT64_MAX, ret, ret_refusal);
    }
    if (num_parse_u64(id, ret) < 0 || *ret > INT64_MAX) {
        return problem_set(ret_refusal, PROBLEM_BAD_PARAMETER, "Last-Event-ID",
                           "Last-Event-ID must be the id of an event of this job");
    }
    return 0;
}

static int stream_new(struct call *call, int *take_dirfd, uint64_t after, struct err *err)
{
    uint64_t ns = call->o->heartbeat_ns;
    struct timeval tv = {.tv_sec = (time_t)(ns / NS_PER_S),
                         .tv_usec = (suseconds_t)(ns % NS_PER_S / 1000)};
    struct stream *s = calloc(1, sizeof(*s));

    if (s == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "send events: out of memory");
    }
    s->heart = event_new(call->o->base, -1, EV_PERSIST, on_heart, s);
    if (s->heart == NULL || event_add(s->heart, &tv) < 0) {
        if (s->heart != NULL) {
            event_free(s->heart);
        }
        free(s);
        return err_set(err, ERR_HOST, ENOMEM, "send events: out of memory");
    }
    s->call = call;
    s->dirfd = STEAL_FD(take_dirfd);
    s->after = after;
    s->out = (struct buf)BUF_INIT(TEXT_BYTES_MAX);
    s->watch.changed = on_changed;
    memcpy(s->watch.id, call->match.id, sizeof(s->watch.id));
    service_watch(call->o->service, call->match.id, &s->watch);
    call->state = s;
    call->fini = stream_free;
    return 0;
}

int api_events(struct call *call, struct reply *ret, struct refusal *ret_refusal, struct err *err)
{
    auto_fd int dirfd = -1;
    uint64_t after = 0;
    int r = parse_after(call, &after, ret_refusal);

    if (r == 0) {
        r = call_may_wait(call, ret_refusal);
    }
    if (r < 0) {
        return r;
    }
    r = service_files(call->o->service, call->tenant, call->match.id, &dirfd, err);
    if (r < 0) {
        return api_refuse(r, err, ret_refusal);
    }
    r = stream_new(call, &dirfd, after, err);
    return r < 0 ? r
                 : reply_stream(ret, "text/event-stream", on_bytes, call->state, BLOCK_BYTES, err);
}
