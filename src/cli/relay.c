/*
 * How it works: in the child everything is one request after the other. While one is on its way the
 * socket to the caller is served too (on_turn), and a wish to cancel ends the request: the event
 * stream is then dropped, the cancel sent, and the stream taken up again behind the last event that
 * was heard. A stream that breaks is taken up the same way, until nothing new came for PATIENCE_NS.
 */
#include "cli/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"

#include "cli/remote-out.h"
#include "cli/sse.h"
#include "job/base64.h"
#include "job/json-build.h"
#include "job/result.h"
#include "job/text.h"
#include "job/verdict.h"
#include "sup/client.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define QUEUE_HIGH    (1 * MIB) /* what waits for the caller: above it the daemon isn't read */
#define QUEUE_MAX     (RESULT_JSON_MAX + 2 * SSE_DATA_MAX)
#define PATIENCE_NS   (60 * NS_PER_S)
#define BARREN_MAX    5u /* streams that end in order and bring nothing */
#define REST_FIRST_NS (250 * NS_PER_MS)
#define REST_MOST_NS  (5 * NS_PER_S)
#define SILENCE_NS    (90 * NS_PER_S)
#define REASON        "daemon"
#define STREAM_MAX    (64 * MIB) /* largest --stdout */

struct relay {
    const struct relay_job *job;
    struct http *http;
    struct client client;
    struct sse sse;
    char id[REMOTE_ID_SIZE];
    uint64_t seen;     /* number of the last event that was heard */
    uint64_t heard_ns; /* when */
    bool may_cancel;   /* a request is on its way that a wish to cancel ends */
    bool asked;        /* the daemon knows the wish */
    struct remote_job end;
};

static bool wants_end(const struct relay *r)
{
    return r->client.gone || r->client.canceled;
}

/* The socket to the caller: what it can take, what it says. */
static void serve(struct relay *r)
{
    client_flush(&r->client);
    client_listen(&r->client);
}

static size_t waiting(const struct relay *r)
{
    return r->client.queue.len - r->client.sent;
}

/* Once canceled, a caller that does not read must not keep the job from its end. */
static bool crowded(const struct relay *r)
{
    return waiting(r) > QUEUE_HIGH && !wants_end(r);
}

static int on_turn(void *ctx, struct pollfd *also, struct err *err)
{
    struct relay *r = ctx;

    serve(r);
    if (r->may_cancel && wants_end(r) && !r->asked) {
        return err_set(err, ERR_HOST, ECANCELED, "the caller wants the end");
    }
    if (!r->client.gone) { /* a closed socket is always readable */
        also->fd = r->client.fd;
        also->events = (short)((r->client.canceled ? 0 : POLLIN) |
                               (client_wants_write(&r->client) ? POLLOUT : 0));
    }
    return crowded(r) ? 0 : 1;
}

static int put(struct relay *r, enum sup_event_kind kind, const void *data, size_t len,
               struct err *err)
{
    return client_put(&r->client, kind, data, len) < 0
               ? err_set(err, ERR_HOST, ENOMEM, "out of memory for what the daemon sends")
               : 0;
}

static int bad_event(const char *what, struct err *err)
{
    return err_set(err, ERR_HOST, EPROTO, "the daemon's event stream is broken: %s", what);
}

/* {"encoding":"utf8"|"base64","data":TEXT} */
static int pass_stream(struct relay *r, enum sup_event_kind kind, const json_t *json,
                       struct err *err)
{
    const char *encoding = json_string_value(json_object_get(json, "encoding"));
    const json_t *data = json_object_get(json, "data");
    auto_free uint8_t *bytes = NULL;
    size_t len = 0;
    int n = 0;

    if (encoding == NULL || !json_is_string(data)) {
        return bad_event("output without data", err);
    }
    if (!r->job->streaming || (wants_end(r) && waiting(r) > QUEUE_HIGH)) {
        return 0;
    }
    if (strcmp(encoding, "utf8") == 0) {
        return put(r, kind, json_string_value(data), json_string_length(data), err);
    }
    n = strcmp(encoding, "base64") == 0
            ? base64_decode(json_string_value(data), json_string_length(data), &bytes, &len)
            : -EINVAL;
    if (n < 0) {
        return bad_event("output in an unknown encoding", err);
    }
    return put(r, kind, bytes, len, err);
}

static int pass_state(struct relay *r, const json_t *json, struct err *err)
{
    const char *state = json_string_value(json_object_get(json, "state"));

    for (int s = REMOTE_QUEUED; state != NULL && s <= REMOTE_ENDED; s++) {
        const char *name = remote_state_name((enum remote_state)s);

        if (strcmp(state, name) == 0) {
            return put(r, SUP_PHASE, name, strlen(name), err);
        }
    }
    return bad_event("an unknown state", err);
}

static int take_result(struct relay *r, const struct sse_event *event, struct err *err)
{
    struct remote_job job = REMOTE_JOB_INIT;
    int n = remote_job_read(event->data, event->len, &job, err);

    if (n < 0) {
        return n;
    }
    if (strcmp(job.id, r->id) != 0 || job.state != REMOTE_ENDED) {
        remote_job_fini(&job);
        return bad_event("the result is not this job's", err);
    }
    remote_job_fini(&r->end);
    r->end = job;
    return 0;
}

static int on_event(void *ctx, const struct sse_event *event, struct err *err)
{
    struct relay *r = ctx;
    json_error_t at;
    json_t *json = NULL;
    int n = 0;

    if (r->end.json != NULL) {
        return bad_event("something follows the result", err);
    }
    if (event->id <= r->seen) {
        return 0; /* heard before the connection broke */
    }
    if (strcmp(event->name, "result") == 0) {
        n = take_result(r, event, err);
    } else {
        json = event->len > 0 ? json_loadb((const char *)event->data, event->len,
                                           JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &at)
                              : NULL;
        if (!json_is_object(json)) {
            n = bad_event("an event is no object", err);
        } else if (strcmp(event->name, "stdout") == 0) {
            n = pass_stream(r, SUP_STDOUT, json, err);
        } else if (strcmp(event->name, "stderr") == 0) {
            n = pass_stream(r, SUP_STDERR, json, err);
        } else if (strcmp(event->name, "state") == 0) {
            n = pass_state(r, json, err);
        } /* whatever a later version tells beside these */
        json_decref(json);
    }
    r->seen = event->id;
    r->heard_ns = clock_mono_ns();
    return n;
}

static int on_stream(void *ctx, const void *data, size_t len, struct err *err)
{
    struct relay *r = ctx;

    serve(r);
    return crowded(r) ? 1 : sse_feed(&r->sse, data, len, err);
}

/* One connection: 0 if the stream ended as it may, whether or not the result is there. */
static int listen_once(struct relay *r, struct err *err)
{
    auto_http_answer struct http_answer answer = {.status = 0};
    char path[64];
    char last[64];
    const struct http_request rq = {.method = "GET",
                                    .path = path,
                                    .headers = {"Accept: text/event-stream", last},
                                    .silence_ns = SILENCE_NS,
                                    .stream = on_stream,
                                    .turn = on_turn,
                                    .ctx = r};
    int n = 0;

    (void)snprintf(path, sizeof(path), "/v1/jobs/%s/events", r->id);
    (void)snprintf(last, sizeof(last), "Last-Event-ID: %" PRIu64, r->seen);
    sse_fini(&r->sse);
    sse_init(&r->sse, r->seen, on_event, r);
    r->may_cancel = true;
    n = http_do(r->http, &rq, &answer, err);
    r->may_cancel = false;
    if (r->end.json != NULL) { /* how the connection ends after that says nothing */
        *err = (struct err)ERR_INIT;
        return 0;
    }
    if (n < 0) {
        return n;
    }
    if (answer.status == 502 || answer.status == 503 || answer.status == 429) {
        return 0; /* it is about to restart, or a proxy knows no daemon: as a broken connection */
    }
    return answer.status == 200 ? 0 : remote_refused(r->http, &answer, err);
}

/* Between two tries, serving the caller. */
static void rest(struct relay *r, uint64_t ns)
{
    uint64_t until = clock_mono_ns() + ns;
    bool before = wants_end(r);

    for (uint64_t now = clock_mono_ns(); now < until && (before || !wants_end(r));
         now = clock_mono_ns()) {
        struct pollfd p = {.fd = before ? -1 : r->client.fd,
                           .events =
                               (short)(POLLIN | (client_wants_write(&r->client) ? POLLOUT : 0))};

        (void)poll(&p, 1, (int)((until - now) / NS_PER_MS) + 1);
        serve(r);
    }
}

static bool is_transient(int n)
{
    return n == -ECONNREFUSED || n == -ECONNRESET || n == -ETIMEDOUT;
}

/* The daemon's answer to the cancel: that the job had ended is one, too. */
static int cancel(struct relay *r, struct err *err)
{
    uint64_t start = clock_mono_ns();
    int n = 0;

    for (uint64_t pause = REST_FIRST_NS;; pause *= 2) {
        n = remote_cancel(r->http, r->id, err);
        if (!is_transient(n) || clock_mono_ns() - start > PATIENCE_NS) {
            break;
        }
        *err = (struct err)ERR_INIT;
        rest(r, pause < REST_MOST_NS ? pause : REST_MOST_NS);
    }
    if (n == -EALREADY || n == 1) {
        *err = (struct err)ERR_INIT;
        n = 0;
    }
    r->asked = true;
    return n;
}

static int lost(struct relay *r, const struct err *why, struct err *err)
{
    return err_set(
        err, ERR_HOST, EPIPE,
        "lost touch with the daemon (%.300s); what became of the job says 'airlock watch "
        "%s'",
        why->class != ERR_NONE ? why->msg : "it ends the event stream early", r->id);
}

/* The caller's wish for the end. -ECANCELED if nothing more is to be heard. */
static int heed(struct relay *r, struct err *err)
{
    int n = 0;

    if (!wants_end(r)) {
        return 0;
    }
    if (r->job->cancels && !r->asked) {
        n = cancel(r, err);
    }
    r->asked = true;
    if (n == 0 && (r->client.gone || !r->job->cancels)) {
        return err_set(err, ERR_USAGE, ECANCELED,
                       "no longer watched; the job goes on, and 'airlock watch %s' shows it",
                       r->id);
    }
    return n;
}

/* How the stream is taken up again. */
struct patience {
    uint64_t pause;
    unsigned int barren; /* streams in a row that ended in order and brought nothing */
};

/* After one stream: rests before the next, or gives up. n: of listen_once(), why: its error. */
static int bear(struct relay *r, struct patience *p, int n, bool progress, const struct err *why,
                struct err *err)
{
    if (n < 0 && !is_transient(n)) {
        *err = *why;
        return n;
    }
    p->barren = n == 0 && !progress ? p->barren + 1 : 0;
    if (clock_mono_ns() - r->heard_ns > PATIENCE_NS || p->barren == BARREN_MAX) {
        return lost(r, why, err);
    }
    p->pause = progress ? REST_FIRST_NS : p->pause;
    rest(r, p->pause);
    p->pause = 2 * p->pause < REST_MOST_NS ? 2 * p->pause : REST_MOST_NS;
    return 0;
}

/* Until the result is there. -ECANCELED: the caller wants to hear no more. */
static int follow(struct relay *r, struct err *err)
{
    struct patience p = {.pause = REST_FIRST_NS};
    int n = 0;

    r->heard_ns = clock_mono_ns();
    while (n == 0 && r->end.json == NULL) {
        struct err why = ERR_INIT;
        uint64_t seen = r->seen;

        n = heed(r, err);
        if (n < 0) {
            return n;
        }
        n = listen_once(r, &why);
        if (n == -ECANCELED || r->end.json != NULL) {
            n = 0;
            continue;
        }
        n = bear(r, &p, n, r->seen > seen, &why, err);
    }
    return n;
}

/* A stream too long for the job object: with --json the result has it all the same. */
static int fill_stream(struct relay *r, json_t *result, const char *name, struct err *err)
{
    auto_http_answer struct http_answer answer = {.status = 0};
    json_t *stream = json_object_get(result, name);
    json_int_t bytes = json_integer_value(json_object_get(stream, "bytes"));
    char path[64];
    const struct http_request rq = {
        .method = "GET", .path = path, .answer_max = STREAM_MAX, .turn = on_turn, .ctx = r};
    struct builder b = {0};
    const char *data = NULL;
    int n = 0;

    if (!json_is_null(json_object_get(stream, "data")) || bytes <= 0) {
        return 0;
    }
    (void)snprintf(path, sizeof(path), "/v1/jobs/%s/%s", r->id, name);
    n = http_do(r->http, &rq, &answer, err);
    if (n < 0) {
        return n;
    }
    if (answer.status != 200) {
        return remote_refused(r->http, &answer, err);
    }
    if (answer.body.len != (size_t)bytes) {
        return err_set(err, ERR_HOST, EPROTO, "the daemon's %s has not the size of the result",
                       name);
    }
    data = (const char *)answer.body.data;
    if (str_is_utf8(data, answer.body.len)) {
        set(&b, stream, "encoding", json_string("utf8"));
        set(&b, stream, "data", json_stringn(data, answer.body.len));
    } else {
        set(&b, stream, "encoding", json_string("base64"));
        set(&b, stream, "data", json_base64(answer.body.data, answer.body.len));
    }
    return b.failed ? err_set(err, ERR_HOST, ENOMEM, "out of memory for the result") : 0;
}

/* The outputs are part of the promise: without them it is no success here. */
static int fetch_outputs(struct relay *r, json_t *result, struct err *err)
{
    const struct remote_out out = {.id = r->id,
                                   .result = result,
                                   .dir = r->job->out_dir,
                                   .limits = r->job->limits,
                                   .turn = on_turn,
                                   .ctx = r};
    struct builder b = {0};
    struct err why = ERR_INIT;
    struct text text;

    if (r->job->out_dir == NULL || r->end.verdict != AIRLOCK_SUCCESS ||
        remote_out_fetch(r->http, &out, &why) == 0) {
        return 0;
    }
    text = text_of_str(why.msg);
    set(&b, result, "verdict", json_string(verdict_name(AIRLOCK_SANDBOX_FAILURE)));
    set(&b, result, "reason", json_string("export"));
    set(&b, result, "message",
        json_sprintf("the program succeeded, but its outputs could not be fetched: %s", text.s));
    return b.failed ? err_set(err, ERR_HOST, ENOMEM, "out of memory for the result") : 0;
}

static int deliver(struct relay *r, struct err *err)
{
    auto_buf struct buf text = BUF_INIT(RESULT_JSON_MAX);
    json_t *result = remote_job_result(&r->end);
    struct builder b = {0};
    const char *reason = json_string_value(json_object_get(r->end.json, "reason"));
    int n = 0;

    if (result == NULL) { /* it ended without one: nothing of it ever ran, or its data is gone */
        n = result_rejected_json(r->job->limits, (enum airlock_verdict)r->end.verdict,
                                 reason != NULL ? text_of_str(reason).s : REASON,
                                 "the daemon keeps no result of this job", &text);
    } else {
        n = !r->job->streaming ? fill_stream(r, result, "stdout", err) : 0;
        if (n == 0 && !r->job->streaming) {
            n = fill_stream(r, result, "stderr", err);
        }
        if (n == 0) {
            n = fetch_outputs(r, result, err);
        }
        if (n < 0) {
            return n;
        }
        n = json_finish(&b, json_incref(result), &text);
    }
    return n < 0 ? err_set(err, ERR_HOST, ENOMEM, "out of memory for the result")
                 : put(r, SUP_RESULT, text.data, text.len, err);
}

/* Submits, or looks at the job that shall be followed. */
static int enter(struct relay *r, struct err *err)
{
    auto_remote_job struct remote_job job = REMOTE_JOB_INIT;
    char text[sizeof(RELAY_ACCEPTED) + REMOTE_ID_SIZE];
    int n = http_new(r->job->http, &r->http, err);

    if (n < 0) {
        return n;
    }
    if (r->job->body == NULL) {
        (void)snprintf(r->id, sizeof(r->id), "%s", r->job->id);
        return 0;
    }
    n = remote_submit(r->http, r->job->body, on_turn, r, &job, err);
    if (n < 0) {
        return n;
    }
    memcpy(r->id, job.id, sizeof(r->id));
    (void)snprintf(text, sizeof(text), "%s%s", RELAY_ACCEPTED, r->id);
    return put(r, SUP_PHASE, text, strlen(text), err);
}

static enum airlock_verdict verdict_of(const struct err *err)
{
    return err->errnum == ECANCELED  ? AIRLOCK_CANCELED
           : err->class == ERR_USAGE ? AIRLOCK_REJECTED
           : err->class == ERR_LIMIT ? AIRLOCK_CAPACITY_REJECTED
                                     : AIRLOCK_SANDBOX_FAILURE;
}

/* What failed on this side as the result that the caller waits for, in our own words. */
static int answer(struct relay *r, const struct err *why)
{
    auto_buf struct buf text = BUF_INIT(MIB);
    auto_buf struct buf told = BUF_INIT(MIB);
    struct builder b = {0};
    struct err ignored = ERR_INIT;
    json_error_t at;
    json_t *root = NULL;
    int n = result_rejected_json(r->job->limits, verdict_of(why), REASON, why->msg, &text);

    if (n < 0) {
        return n;
    }
    root = json_loadb((const char *)text.data, text.len, 0, &at);
    if (root != NULL) {
        set(&b, root, "message", printable(why->msg));
    }
    n = json_finish(&b, root, &told);
    return n < 0 ? n : put(r, SUP_RESULT, told.data, told.len, &ignored);
}

static int relay(struct relay *r)
{
    struct err err = ERR_INIT;
    int n = enter(r, &err);

    if (n == 0) {
        n = follow(r, &err);
    }
    if (n == 0) {
        n = deliver(r, &err);
    }
    return n < 0 ? answer(r, &err) : 0;
}

/* As a supervisor: in a session of its own, with nothing of the caller's but the socket. */
_Noreturn static void child(const struct relay_job *job, int fd)
{
    struct relay r = {.job = job, .end = REMOTE_JOB_INIT};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    int n = 0;

    (void)setsid();
    (void)prctl(PR_SET_NAME, "airlock-relay");
    proc_reset_signals();
    (void)sigaction(SIGPIPE, &ignore, NULL);
    fd_keep_only(&fd, 1);
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (null >= 0 && null != i) {
            (void)dup2(null, i);
            (void)close(null);
        }
    }
    client_init(&r.client, fd, QUEUE_MAX);
    n = relay(&r);
    client_drain(&r.client);
    _exit(n == 0 ? 0 : 1);
}

int relay_start(const struct relay_job *job, struct sup *ret, struct err *err)
{
    int theirs = -1;
    int r = sup_fork(ret, &theirs, err);

    if (r < 0) {
        return err_wrap(err, "start what speaks to the daemon");
    }
    if (r == 1) {
        child(job, theirs);
    }
    return 0;
}
