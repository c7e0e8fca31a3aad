/*
 * How it works.  A job that was given a slot is a struct active: the launcher is asked for a machine
 * with the descriptor of the specification, and answers with the socket of a supervisor.  From then
 * on events come: streams are appended to the job's files, the program's start is written down, and
 * the result ends it.  A machine that failed before the program started, or that the host had no
 * room for, puts the job back into the queue.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "airlock/verdict.h"
#include "daemon/service-internal.h"
#include "job/result.h"
#include "job/verdict.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define EVENTS_AT_ONCE  64 /* of one job; then the others get their turn */
#define NO_CAPACITY_NS  (500 * NS_PER_MS)
#define FAILED_AGAIN_NS (1 * NS_PER_S)
#define PHASE_RUN       "run"

struct active *runner_find(struct service *s, const char *id)
{
    for (struct active *a = s->active; a != NULL; a = a->next) {
        if (strcmp(a->info.id, id) == 0) {
            return a;
        }
    }
    return NULL;
}

static void free_event(struct event **ev)
{
    if (*ev != NULL) {
        event_free(*ev);
        *ev = NULL;
    }
}

struct active *runner_new(struct service *s)
{
    struct active *a = calloc(1, sizeof(*a));

    if (a != NULL) {
        *a = (struct active){
            .s = s, .files = JOBFILES_INIT, .sup = SUP_INIT, .result = BUF_INIT(RESULT_JSON_MAX)};
    }
    return a;
}

void runner_free(struct active *a)
{
    free_event(&a->ev);
    free_event(&a->again);
    sup_fini(&a->sup);
    jobfiles_fini(&a->files);
    buf_fini(&a->result);
    free(a);
}

void runner_drop(struct active *a)
{
    struct active **at = &a->s->active;

    while (*at != a) {
        at = &(*at)->next;
    }
    *at = a->next;
    runner_free(a);
}

static int ask(struct active *a, struct err *err)
{
    auto_fd int spec = -1;
    int r = jobfiles_spec(a->files.dirfd, &spec, err);

    return r < 0 ? r : launcher_ask_start(a->s->c.launcher, a->number, spec, a->files.dirfd, err);
}

static int begin(struct active *a, struct err *err)
{
    struct service *s = a->s;
    int r = jobstore_get(s->c.store, NULL, a->info.id, &a->info, err);

    if (r == 0) {
        r = jobfiles_open(s->c.jobs_fd, a->info.id, &a->files, err);
    }
    if (r < 0) {
        return r;
    }
    a->info.state = JOB_STARTING;
    a->info.attempts++;
    a->info.machine_id[0] = '\0';
    r = jobstore_update(s->c.store, &a->info, err);
    if (r == 0) {
        r = jobfiles_put_state(&a->files, JOB_STARTING, err);
    }
    return r < 0 ? r : ask(a, err);
}

int runner_begin(struct service *s, const struct queue_job *job, struct err *err)
{
    struct active *a = runner_new(s);
    uint64_t now_ms = 0;
    int r = 0;

    if (a == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    a->number = ++s->number;
    a->memory_bytes = job->need.memory_bytes;
    memcpy(a->info.id, job->id, sizeof(a->info.id));
    r = begin(a, err);
    if (r < 0) {
        struct err ignored = ERR_INIT;

        if (a->info.state == JOB_STARTING) { /* nothing was asked for */
            a->info.state = JOB_QUEUED;
            a->info.attempts--;
            (void)!jobstore_update(s->c.store, &a->info, &ignored);
        }
        runner_free(a);
        return r;
    }
    now_ms = service_real_ms();
    metrics_observe(s->c.metrics, METRIC_PHASE_SECONDS, METRIC_PHASE_QUEUE,
                    now_ms > a->info.created_ms ? (now_ms - a->info.created_ms) * NS_PER_MS : 0);
    a->next = s->active;
    s->active = a;
    s->starts++;
    s->taken_since += a->memory_bytes;
    service_news(s, a->info.id);
    return 0;
}

/* Back among those that wait. */
static void requeue(struct active *a, enum queue_again why, uint64_t wait_ns)
{
    struct service *s = a->s;
    uint64_t now_ns = clock_mono_ns();
    struct err err = ERR_INIT;

    if (queue_requeue(s->queue, a->info.id, why, now_ns + wait_ns, now_ns, &err) < 0) {
        service_complain(s, "queue", a->info.id, &err);
        ending_own(s, a, AIRLOCK_SANDBOX_FAILURE, "queue", "the job lost its place in the queue");
        return;
    }
    a->info.state = JOB_QUEUED;
    a->info.attempts -= why == QUEUE_AGAIN_NO_CAPACITY && a->info.attempts > 0;
    if (jobstore_update(s->c.store, &a->info, &err) < 0 ||
        jobfiles_put_state(&a->files, JOB_QUEUED, &err) < 0) {
        service_complain(s, "store", a->info.id, &err);
    }
    service_news(s, a->info.id);
    runner_drop(a);
    service_kick(s);
}

static void machine_failed(struct active *a, const char *reason, const char *text)
{
    struct service *s = a->s;

    log_event(s->c.log, LOG_WARNING, "machine-failed", a->info.id, LOG_TEXT("phase", reason),
              LOG_TEXT("error", text), LOG_NUMBER("attempt", a->info.attempts));
    if (a->info.state == JOB_STARTING && !a->info.cancel &&
        a->info.attempts <= s->c.config->retries) {
        metrics_add(s->c.metrics, METRIC_JOBS_RETRIED, 0, 1);
        requeue(a, QUEUE_AGAIN_FAILED, FAILED_AGAIN_NS);
        return;
    }
    ending_own(s, a, AIRLOCK_SANDBOX_FAILURE, reason, text);
}

/* Whether this result is the job's, or only this machine's. */
static void on_result(struct active *a, const struct sup_event *event)
{
    struct service *s = a->s;
    struct ending_said said;
    struct err err = ERR_INIT;

    if (ending_read(event->data, event->len, &said, &err) < 0) {
        machine_failed(a, "supervisor", err.msg);
        return;
    }
    if (said.verdict == AIRLOCK_CAPACITY_REJECTED && !a->info.cancel) {
        log_event(s->c.log, LOG_INFO, "no-capacity", a->info.id, LOG_TEXT("short", said.reason));
        requeue(a, QUEUE_AGAIN_NO_CAPACITY, NO_CAPACITY_NS);
        return;
    }
    if (said.verdict == AIRLOCK_SANDBOX_FAILURE && !said.started && !a->info.cancel &&
        a->info.state == JOB_STARTING && a->info.attempts <= s->c.config->retries) {
        metrics_add(s->c.metrics, METRIC_CLEANUP_FAILURES, 0, said.unclean);
        machine_failed(a, said.reason, said.message);
        return;
    }
    if (a->faulty) {
        /* What there is of its output must not keep the disk full. */
        if (ftruncate(a->files.stdout_fd, 0) < 0 || ftruncate(a->files.stderr_fd, 0) < 0) {
            (void)err_sys(&err, "empty the output of a job");
            service_complain(s, "output", a->info.id, &err);
        }
        ending_own(s, a, AIRLOCK_SANDBOX_FAILURE, "host_disk",
                   "the host had no room to keep what the program wrote");
        return;
    }
    ending_result(a, event->data, event->len);
}

static void on_started(struct active *a)
{
    struct service *s = a->s;
    struct err err = ERR_INIT;

    a->info.state = JOB_RUNNING;
    a->info.started_ms = service_real_ms();
    if (queue_started(s->queue, a->info.id, clock_mono_ns(), &err) < 0 ||
        jobstore_update(s->c.store, &a->info, &err) < 0 ||
        jobfiles_put_state(&a->files, JOB_RUNNING, &err) < 0) {
        service_complain(s, "store", a->info.id, &err);
    }
}

static void on_stream(struct active *a, const struct sup_event *event)
{
    struct err err = ERR_INIT;

    if (a->faulty || jobfiles_put_stream(
                         &a->files, event->kind == SUP_STDOUT ? JOBFILES_STDOUT : JOBFILES_STDERR,
                         event->data, event->len, &err) == 0) {
        return;
    }
    service_complain(a->s, "output", a->info.id, &err);
    a->faulty = true;
    a->stdout_cut = event->kind == SUP_STDOUT;
    a->stderr_cut = event->kind == SUP_STDERR;
    runner_cancel(a);
}

static void on_machine(struct active *a, const struct sup_event *event)
{
    char id[JOB_ID_SIZE] = "";
    struct err err = ERR_INIT;

    if (event->len == JOB_ID_SIZE - 1) {
        memcpy(id, event->data, JOB_ID_SIZE - 1);
    }
    if (!job_id_ok(id)) {
        return;
    }
    memcpy(a->info.machine_id, id, sizeof(id));
    if (jobstore_update(a->s->c.store, &a->info, &err) < 0) {
        service_complain(a->s, "store", a->info.id, &err);
    }
}

/* False when the job is over. */
static bool on_event(struct active *a, const struct sup_event *event)
{
    switch (event->kind) {
    case SUP_STDOUT:
    case SUP_STDERR:
        on_stream(a, event);
        break;
    case SUP_PHASE:
        if (event->len == sizeof(PHASE_RUN) - 1 &&
            memcmp(event->data, PHASE_RUN, event->len) == 0 && a->info.state == JOB_STARTING) {
            on_started(a);
        }
        break;
    case SUP_MACHINE:
        on_machine(a, event);
        break;
    case SUP_RESULT:
        on_result(a, event);
        return false;
    case SUP_WAITS:
    case SUP_TAKEN:
    case SUP_UNFIT:
        break;
    }
    return true;
}

static void on_supervisor(evutil_socket_t fd, short what, void *ctx)
{
    struct active *a = ctx;
    struct service *s = a->s;
    char id[JOB_ID_SIZE];

    (void)fd;
    (void)what;
    memcpy(id, a->info.id, sizeof(id));
    for (int i = 0; i < EVENTS_AT_ONCE; i++) {
        struct sup_event event = {0};
        struct err err = ERR_INIT;
        int r = sup_try_next(&a->sup, &event, &err);

        if (r == 0) {
            break;
        }
        if (r < 0) {
            machine_failed(a, "supervisor", err.msg);
            service_schedule(s);
            return;
        }
        if (!on_event(a, &event)) {
            service_schedule(s);
            return;
        }
    }
    service_news(s, id);
}

void runner_cancel(struct active *a)
{
    if (a->answered && !a->canceled && a->sup.fd >= 0) {
        a->canceled = true;
        sup_cancel(&a->sup);
    }
}

static void adopt(struct active *a, struct launcher_answer *answer)
{
    a->sup = answer->sup;
    answer->sup = (struct sup)SUP_INIT;
    metrics_add(a->s->c.metrics, answer->pooled ? METRIC_POOL_HITS : METRIC_POOL_MISSES, 0, 1);
    a->ev = event_new(a->s->c.base, a->sup.fd, EV_READ | EV_PERSIST, on_supervisor, a);
    if (a->ev == NULL || event_add(a->ev, NULL) < 0) {
        machine_failed(a, "supervisor", "out of memory"); /* its socket closes: it ends */
        return;
    }
    if (a->info.cancel) {
        runner_cancel(a);
    }
}

static void start_failed(struct active *a, const struct launcher_answer *answer)
{
    switch (answer->class) {
    case ERR_USAGE:
        ending_own(a->s, a, AIRLOCK_REJECTED, "specification", answer->why);
        break;
    case ERR_LIMIT:
        requeue(a, QUEUE_AGAIN_NO_CAPACITY, NO_CAPACITY_NS);
        break;
    case ERR_NONE:
    case ERR_GUEST:
    case ERR_HOST:
        machine_failed(a, "launcher", answer->why);
        break;
    }
}

void runner_answer(struct service *s, struct launcher_answer *answer)
{
    struct active *a = s->active;

    while (a != NULL && (a->number != answer->number || a->answered)) {
        a = a->next;
    }
    if (a == NULL) {
        return;
    }
    s->starts--;
    a->answered = true;
    if (answer->failed == 0) {
        adopt(a, answer);
    } else if (a->info.cancel) {
        ending_own(s, a, AIRLOCK_CANCELED, "", "the caller canceled the job before it started");
    } else {
        start_failed(a, answer);
    }
}
