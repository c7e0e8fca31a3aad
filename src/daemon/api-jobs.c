/* api-jobs.c - submitting, listing, cancelling and fetching jobs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/api.h"
#include "daemon/jobfiles.h"
#include "daemon/jobstore.h"
#include "daemon/request.h"
#include "daemon/route.h"
#include "job/json-build.h"
#include "job/verdict.h"
#include "sys/fd.h"

/* A call that waits for a job's end. */
struct waiting {
    struct service_watch watch;
    struct call *call;
    struct event *timer;
    bool late;           /* the time is up */
    unsigned int status; /* if it is: 202 of a submission, 200 of a GET */
};

static void waiting_free(void *state)
{
    struct waiting *w = state;

    service_unwatch(&w->watch);
    if (w->timer != NULL) {
        event_free(w->timer);
    }
    free(w);
}

static void on_changed(struct service_watch *watch)
{
    struct waiting *w = (struct waiting *)((char *)watch - offsetof(struct waiting, watch));

    call_resume(w->call);
}

static void on_late(evutil_socket_t fd, short what, void *ctx)
{
    struct waiting *w = ctx;

    (void)fd;
    (void)what;
    w->late = true;
    call_resume(w->call);
}

static int no_memory(struct err *err)
{
    return err_set(err, ERR_HOST, ENOMEM, "answer a request: out of memory");
}

/*
 * Without its result, if there is no room for that or it can't be read: who submits must hear of the
 * job all the same.
 */
static int job_text(struct call *call, const struct job_info *info, unsigned int *status,
                    char **ret, struct refusal *ret_refusal, struct err *err)
{
    bool submits = strcmp(call->match.route->method, "POST") == 0;
    json_auto_t *json = NULL;
    int r = api_job_text(call, info, ret, err);

    if (r == 0 || (r < 0 && !submits)) {
        return r;
    }
    if (!submits) {
        (void)problem_set(ret_refusal, PROBLEM_BUSY, "", "too many large answers are not read yet");
        ret_refusal->retry_after_s = 1;
        return -EINVAL;
    }
    if (r < 0) {
        log_event(call->o->log, LOG_ERROR, "request-failed", info->id, LOG_TEXT("why", err->msg));
        *err = (struct err)ERR_INIT;
    }
    *status = 202;
    json = api_job_json(info);
    *ret = json_object_set_new(json, "result", json_null()) == 0 ? json_dumps(json, JSON_COMPACT)
                                                                 : NULL;
    return *ret != NULL ? 0 : no_memory(err);
}

static int reply_job(struct call *call, const struct job_info *info, unsigned int status,
                     struct reply *ret, struct refusal *ret_refusal, struct err *err)
{
    auto_reply struct reply made = REPLY_INIT;
    char *text = NULL;
    char location[sizeof("/v1/jobs/") + JOB_ID_SIZE];
    int r = job_text(call, info, &status, &text, ret_refusal, err);

    if (r == 0) {
        r = reply_text(&made, status, text, err);
    }
    if (r == 0) {
        (void)snprintf(location, sizeof(location), "/v1/jobs/%s", info->id);
        r = reply_header(&made, "Location", location, err);
    }
    if (r == 0) {
        *ret = STEAL(&made, (struct reply)REPLY_INIT);
    }
    return r;
}

/* Waits for the end of the job, seconds at most. */
static int wait_for(struct call *call, const char *id, uint64_t seconds, unsigned int status,
                    struct err *err)
{
    bool removal = call->match.route->handle == api_purge;
    struct timeval tv = {.tv_sec = (time_t)seconds};
    struct waiting *w = calloc(1, sizeof(*w));

    if (w == NULL) {
        return no_memory(err);
    }
    w->call = call;
    w->status = status;
    w->watch.changed = on_changed;
    w->watch.removal = removal;
    w->timer = evtimer_new(call->o->base, on_late, w);
    if (w->timer == NULL || evtimer_add(w->timer, &tv) < 0) {
        if (w->timer != NULL) {
            event_free(w->timer);
        }
        free(w);
        return no_memory(err);
    }
    memcpy(w->watch.id, id, sizeof(w->watch.id));
    service_watch(call->o->service, id, &w->watch);
    call->state = w;
    call->fini = waiting_free;
    call_suspend(call);
    return CALL_WAITS;
}

/* ?wait, and whether it may: before a job is accepted, so that a refusal leaves none. */
static int may_wait(struct call *call, uint64_t *ret_seconds, struct refusal *ret_refusal)
{
    int r = query_u64(&call->query, "wait", 0, SERVER_WAIT_S_MAX, ret_seconds, ret_refusal);

    return r == 0 && *ret_seconds > 0 ? call_may_wait(call, ret_refusal) : r;
}

/* A call that waited was resumed: by news of its job, by the clock, or its client is gone. */
static int wait_again(struct call *call, struct reply *ret, struct refusal *ret_refusal,
                      struct err *err)
{
    const struct waiting *w = call->state;
    struct job_info info;
    int r = service_get(call->o->service, call->tenant, w->watch.id, &info, err);

    if (r < 0) {
        return api_refuse(r, err, ret_refusal);
    }
    if (info.state != JOB_ENDED && !w->late) {
        call_suspend(call);
        return CALL_WAITS;
    }
    return reply_job(call, &info, info.state == JOB_ENDED ? 200 : w->status, ret, ret_refusal, err);
}

static int take_key(const struct call *call, struct service_job *job, struct refusal *ret_refusal)
{
    const char *key = call_header(call, "Idempotency-Key");
    size_t n = key != NULL ? strlen(key) : 0;

    if (key == NULL) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (key[i] < ' ' || key[i] > '~') {
            n = 0;
        }
    }
    if (n == 0 || n >= sizeof(job->key)) {
        return problem_set(ret_refusal, PROBLEM_BAD_PARAMETER, "Idempotency-Key",
                           "Idempotency-Key must have 1 to %zu printable ASCII characters",
                           sizeof(job->key) - 1);
    }
    memcpy(job->key, key, n + 1);
    return 0;
}

/* The body to an accepted job. As service_submit(): 0, 1 (it was there), negative. */
static int submit(struct call *call, struct job_info *ret, struct refusal *ret_refusal,
                  struct err *err)
{
    auto_service_job struct service_job job;
    const uint8_t *body = call->body.data != NULL ? call->body.data : (const uint8_t *)"";
    int r = 0;

    service_job_init(&job);
    r = take_key(call, &job, ret_refusal);
    if (r == 0) {
        r = request_job(call_header(call, "Content-Type"), body, call->body.len, &job, ret_refusal,
                        err);
    }
    return r == 0 ? service_submit(call->o->service, call->tenant, &job, ret, ret_refusal, err) : r;
}

int api_submit(struct call *call, struct reply *ret, struct refusal *ret_refusal, struct err *err)
{
    struct job_info info = {0};
    uint64_t wait = 0;
    int r = 0;

    if (call->state != NULL) {
        return wait_again(call, ret, ret_refusal, err);
    }
    r = may_wait(call, &wait, ret_refusal);
    if (r == 0) {
        r = submit(call, &info, ret_refusal, err);
    }
    if (r < 0) {
        return r;
    }
    call_drop_body(call);
    if (wait > 0 && info.state != JOB_ENDED) {
        return wait_for(call, info.id, wait, r == 1 ? 200 : 202, err);
    }
    /* A new job is 202 even if it has ended already, unless its end was asked for. */
    return reply_job(call, &info, r == 1 || (wait > 0 && info.state == JOB_ENDED) ? 200 : 202, ret,
                     ret_refusal, err);
}

int api_get(struct call *call, struct reply *ret, struct refusal *ret_refusal, struct err *err)
{
    struct job_info info = {0};
    uint64_t wait = 0;
    int r = 0;

    if (call->state != NULL) {
        return wait_again(call, ret, ret_refusal, err);
    }
    r = may_wait(call, &wait, ret_refusal);
    if (r < 0) {
        return r;
    }
    r = service_get(call->o->service, call->tenant, call->match.id, &info, err);
    if (r < 0) {
        return api_refuse(r, err, ret_refusal);
    }
    if (wait > 0 && info.state != JOB_ENDED) {
        return wait_for(call, info.id, wait, 200, err);
    }
    return reply_job(call, &info, 200, ret, ret_refusal, err);
}

static int parse_filter(const struct call *call, struct job_filter *ret,
                        struct refusal *ret_refusal)
{
    const char *state = query_get(&call->query, "state");
    const char *verdict = query_get(&call->query, "verdict");
    const char *after = query_get(&call->query, "after");
    uint64_t limit = 50;
    int r = query_u64(&call->query, "limit", 1, JOB_PAGE_MAX, &limit, ret_refusal);

    *ret =
        (struct job_filter){.state = -1, .verdict = verdict_find(verdict), .limit = (size_t)limit};
    for (int i = JOB_QUEUED; state != NULL && i <= JOB_ENDED; i++) {
        ret->state = strcmp(state, job_state_name((enum job_state)i)) == 0 ? i : ret->state;
    }
    if (r == 0 && state != NULL && ret->state < 0) {
        return problem_set(ret_refusal, PROBLEM_BAD_PARAMETER, "state",
                           "state must be queued, starting, running or ended");
    }
    if (r == 0 && verdict != NULL && ret->verdict < 0) {
        return problem_set(ret_refusal, PROBLEM_BAD_PARAMETER, "verdict",
                           "verdict is none of those of a result");
    }
    if (r == 0 && after != NULL) {
        if (!job_id_ok(after)) {
            return problem_set(ret_refusal, PROBLEM_BAD_PARAMETER, "after",
                               "after must be the id of a job");
        }
        memcpy(ret->after, after, sizeof(ret->after));
    }
    return r;
}

int api_list(struct call *call, struct reply *ret, struct refusal *ret_refusal, struct err *err)
{
    struct job_filter filter;
    auto_free struct job_info *infos = NULL;
    struct jobstore_page page = {0};
    struct builder b = {0};
    json_t *root = NULL;
    json_t *jobs = NULL;
    int r = parse_filter(call, &filter, ret_refusal);

    if (r < 0) {
        return r;
    }
    infos = calloc(filter.limit, sizeof(*infos));
    if (infos == NULL) {
        return no_memory(err);
    }
    page = (struct jobstore_page){.jobs = infos, .max = filter.limit};
    r = service_list(call->o->service, call->tenant, &filter, &page, err);
    if (r < 0) {
        return api_refuse(r, err, ret_refusal);
    }
    root = json_object();
    jobs = json_array();
    for (size_t i = 0; i < page.n && jobs != NULL; i++) {
        append(&b, jobs, api_job_json(&infos[i]));
    }
    set(&b, root, "jobs", jobs);
    set(&b, root, "next",
        page.more && page.n > 0 ? json_string(infos[page.n - 1].id) : json_null());
    r = b.failed ? no_memory(err) : reply_json(ret, 200, root, err);
    json_decref(root);
    return r;
}

int api_cancel(struct call *call, struct reply *ret, struct refusal *ret_refusal, struct err *err)
{
    struct job_info info;
    int r = service_get(call->o->service, call->tenant, call->match.id, &info, err);

    if (r < 0) {
        return api_refuse(r, err, ret_refusal);
    }
    if (info.state == JOB_ENDED) {
        return problem_set(ret_refusal, PROBLEM_CONFLICT, "",
                           "the job had ended before; its data is removed by DELETE of its /data");
    }
    r = service_cancel(call->o->service, call->tenant, call->match.id, &info, err);
    if (r < 0) {
        return api_refuse(r, err, ret_refusal);
    }
    return reply_job(call, &info, info.state == JOB_ENDED ? 200 : 202, ret, ret_refusal, err);
}

/* 204 when the bytes are overwritten; 202 if that takes longer than a request may wait. */
int api_purge(struct call *call, struct reply *ret, struct refusal *ret_refusal, struct err *err)
{
    const struct waiting *w = call->state;
    int r = w == NULL ? call_may_wait(call, ret_refusal) : 0;

    if (r < 0) {
        return r;
    }
    r = service_purge(call->o->service, call->tenant, call->match.id, err);
    if (r < 0) {
        return api_refuse(r, err, ret_refusal);
    }
    if (r == 0 || (w != NULL && w->late)) {
        return reply_empty(ret, r == 0 ? 204 : 202, err);
    }
    if (w == NULL) {
        return wait_for(call, call->match.id, SERVER_WAIT_S_MAX, 202, err);
    }
    call_suspend(call);
    return CALL_WAITS;
}

/* One of the streams: what is there now; a job that runs has more later. */
static int send_stream(struct call *call, const char *name, struct reply *ret,
                       struct refusal *ret_refusal, struct err *err)
{
    auto_fd int dirfd = -1;
    auto_fd int fd = -1;
    struct stat st;
    int r = service_files(call->o->service, call->tenant, call->match.id, &dirfd, err);

    if (r < 0) {
        return api_refuse(r, err, ret_refusal);
    }
    r = fd_open_nolink(dirfd, name, O_RDONLY, 0, &fd, err);
    if (r < 0) {
        return r;
    }
    if (fstat(fd, &st) < 0) {
        return err_sys(err, "look at a job's %s", name);
    }
    return reply_file(ret, &fd, (uint64_t)st.st_size, call_header(call, "Range"), ret_refusal, err);
}

int api_stdout(struct call *call, struct reply *ret, struct refusal *ret_refusal, struct err *err)
{
    return send_stream(call, "stdout", ret, ret_refusal, err);
}

int api_stderr(struct call *call, struct reply *ret, struct refusal *ret_refusal, struct err *err)
{
    return send_stream(call, "stderr", ret, ret_refusal, err);
}

int api_output(struct call *call, struct reply *ret, struct refusal *ret_refusal, struct err *err)
{
    auto_fd int dirfd = -1;
    auto_fd int fd = -1;
    uint64_t bytes = 0;
    int r = service_files(call->o->service, call->tenant, call->match.id, &dirfd, err);

    if (r == 0) {
        r = jobfiles_output(dirfd, call->match.name, &fd, &bytes, err);
    }
    if (r < 0) {
        return api_refuse(r, err, ret_refusal);
    }
    return reply_file(ret, &fd, bytes, call_header(call, "Range"), ret_refusal, err);
}

int api_record(struct call *call, struct reply *ret, struct refusal *ret_refusal, struct err *err)
{
    json_t *record = NULL;
    int r = service_record(call->o->service, call->tenant, call->match.id, &record, err);

    if (r < 0) {
        return api_refuse(r, err, ret_refusal);
    }
    r = reply_json(ret, 200, record, err);
    json_decref(record);
    return r;
}
