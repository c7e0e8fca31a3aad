#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/problem.h"
#include "daemon/service-internal.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define RECORD_MAX (1 * MIB)

uint64_t service_real_ms(void)
{
    return clock_ns(CLOCK_REALTIME) / NS_PER_MS;
}

void service_complain(struct service *s, const char *event, const char *job, const struct err *err)
{
    log_event(s->c.log, LOG_ERROR, event, job, LOG_TEXT("error", err->msg));
}

int service_get(struct service *s, const struct tenant *tenant, const char *id,
                struct job_info *ret, struct err *err)
{
    return jobstore_get(s->c.store, tenant->name, id, ret, err);
}

int service_list(struct service *s, const struct tenant *tenant, const struct job_filter *filter,
                 struct jobstore_page *page, struct err *err)
{
    return jobstore_list(s->c.store, tenant->name, filter, page, err);
}

/* A job that no machine runs: it waits, or recover.c finds out how far it was. */
static int cancel_waiting(struct service *s, const char *id, struct job_info *ret, struct err *err)
{
    int r = queue_remove(s->queue, id, err);

    if (r == 0) {
        ret->cancel = true;
        return jobstore_update(s->c.store, ret, err);
    }
    if (r < 0) {
        return r;
    }
    ending_waiting(s, id, AIRLOCK_CANCELED, "", "the caller canceled the job before it started");
    return jobstore_get(s->c.store, NULL, id, ret, err);
}

int service_cancel(struct service *s, const struct tenant *tenant, const char *id,
                   struct job_info *ret, struct err *err)
{
    struct active *a = NULL;
    int r = jobstore_get(s->c.store, tenant->name, id, ret, err);

    if (r < 0 || ret->state == JOB_ENDED) {
        return r;
    }
    a = runner_find(s, id);
    if (a == NULL) {
        return cancel_waiting(s, id, ret, err);
    }
    if (!a->info.cancel) {
        struct job_info now = a->info;

        now.cancel = true;
        r = jobstore_update(s->c.store, &now, err);
        if (r < 0) {
            return r;
        }
        a->info.cancel = true;
        runner_cancel(a);
    }
    *ret = a->info;
    return 0;
}

int service_purge(struct service *s, const struct tenant *tenant, const char *id, struct err *err)
{
    struct job_info info;
    int r = jobstore_get(s->c.store, tenant->name, id, &info, err);

    if (r < 0) {
        return r;
    }
    if (info.state != JOB_ENDED || runner_find(s, id) != NULL) {
        return err_set(err, ERR_USAGE, EBUSY, "the job has not ended; cancel it first");
    }
    if (!info.purged) {
        r = jobfiles_discard(s->c.jobs_fd, id, true, err);
        r = r < 0 ? r : jobstore_purged(s->c.store, id, err);
        if (r < 0) {
            return r;
        }
        log_event(s->c.log, LOG_INFO, "job-purged", id, LOG_TEXT("by", "request"));
        remover_ask(s->remover);
    }
    return jobfiles_wiping(s->c.jobs_fd, id);
}

int service_files(struct service *s, const struct tenant *tenant, const char *id, int *ret_dirfd,
                  struct err *err)
{
    struct job_info info;
    int r = jobstore_get(s->c.store, tenant->name, id, &info, err);

    if (r == 0 && !info.purged) {
        r = jobfiles_find(s->c.jobs_fd, id, ret_dirfd, err);
        if (r == 1) {
            return 0;
        }
    }
    return r < 0 ? r : err_set(err, ERR_USAGE, ENOENT, "the data of this job is gone");
}

void service_watch(struct service *s, const char *id, struct service_watch *watch)
{
    memcpy(watch->id, id, sizeof(watch->id));
    watch->next = s->watches;
    watch->at = &s->watches;
    if (s->watches != NULL) {
        s->watches->at = &watch->next;
    }
    s->watches = watch;
}

void service_unwatch(struct service_watch *watch)
{
    if (watch->at == NULL) {
        return;
    }
    *watch->at = watch->next;
    if (watch->next != NULL) {
        watch->next->at = watch->at;
    }
    watch->next = NULL;
    watch->at = NULL;
}

/* What is heard resumes a request later; it removes no watch but its own. */
void service_news(struct service *s, const char *id)
{
    struct service_watch *next = NULL;

    for (struct service_watch *w = s->watches; w != NULL; w = next) {
        next = w->next;
        if (strcmp(w->id, id) == 0) {
            w->changed(w);
        }
    }
}

/* A look at what was discarded has ended: whoever waits for a removal asks again. */
static void on_removed(evutil_socket_t fd, short what, void *ctx)
{
    struct service *s = ctx;
    struct service_watch *next = NULL;
    struct err err = ERR_INIT;

    (void)fd;
    (void)what;
    if (remover_done(s->remover, &err) < 0) {
        s->removal_failed = true;
        service_complain(s, "removal", NULL, &err);
    }
    if (remover_idle(s->remover)) {
        s->wiping_bytes = 0;
    }
    for (struct service_watch *w = s->watches; w != NULL; w = next) {
        next = w->next;
        if (w->removal) {
            w->changed(w);
        }
    }
}

int service_images(struct service *s, json_t **ret, struct err *err)
{
    if (s->images == NULL) {
        return err_set(err, ERR_HOST, EAGAIN, "airlockd is starting: the images are not known yet");
    }
    *ret = json_pack("{s:O}", "images", s->images);
    return *ret != NULL ? 0 : err_set(err, ERR_HOST, ENOMEM, "out of memory");
}

int service_capacity(struct service *s, json_t **ret, struct err *err)
{
    struct queue_stats q = {0};
    json_t *o = s->capacity != NULL ? json_deep_copy(s->capacity) : NULL;
    json_t *queue = NULL;

    if (s->capacity == NULL) {
        return err_set(err, ERR_HOST, EAGAIN,
                       "airlockd is starting: the capacity is not known yet");
    }
    queue_stats(s->queue, clock_mono_ns(), &q);
    queue = json_pack("{s:I,s:I,s:I,s:I,s:I}", "waiting", (json_int_t)q.waiting, "running",
                      (json_int_t)q.running, "waiting_max", (json_int_t)s->c.config->jobs_max,
                      "memory_bytes", (json_int_t)q.taken.memory_bytes, "vcpus",
                      (json_int_t)q.taken.vcpus);
    if (o == NULL || queue == NULL || json_object_set_new(o, "queue", queue) < 0) {
        json_decref(o);
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    *ret = o;
    return 0;
}

int service_record(struct service *s, const struct tenant *tenant, const char *id, json_t **ret,
                   struct err *err)
{
    auto_buf struct buf text = BUF_INIT(RECORD_MAX);
    struct err why = ERR_INIT;
    auto_fd int dir = -1;
    auto_fd int file = -1;
    int r = service_files(s, tenant, id, &dir, err);

    if (r < 0) {
        return r;
    }
    if (fd_open_nolink(dir, SERVICE_RECORD_NAME, O_RDONLY, 0, &file, &why) < 0 ||
        fd_read_all(file, SERVICE_RECORD_NAME, &text, &why) < 0) {
        return err_set(err, ERR_USAGE, ENOENT, "this job has no record (yet)");
    }
    *ret = json_loadb((const char *)text.data, text.len, 0, NULL);
    return *ret != NULL ? 0 : err_set(err, ERR_USAGE, ENOENT, "the record of this job is damaged");
}

bool service_ready(const struct service *s, const char **ret_why)
{
    *ret_why = s->draining                                ? "airlockd is going to end"
               : s->lost_launcher                         ? "the launcher is gone"
               : s->fault != NULL                         ? s->fault
               : s->images == NULL || s->capacity == NULL ? "airlockd is starting"
                                                          : NULL;
    return *ret_why == NULL;
}

int service_authorize(void *ctx, const char *authorization, bool local, struct tenant *ret_tenant,
                      struct refusal *ret_refusal, struct err *err)
{
    struct service *s = ctx;
    int r = tenants_refresh(s->c.tenants, clock_mono_ns(), err);

    if (r < 0) {
        return r;
    }
    if (local && !s->c.config->require_tokens && tenants_empty(s->c.tenants)) {
        tenant_local(&s->c.config->default_quota, ret_tenant);
        return 0;
    }
    r = tenants_find(s->c.tenants, authorization, clock_mono_ns(), ret_tenant, err);
    if (r != 0) {
        return r < 0 ? r : 0;
    }
    return problem_set(ret_refusal, PROBLEM_UNAUTHORIZED, "Authorization",
                       "a valid token is needed: 'Authorization: Bearer alk_...'; `airlock token "
                       "new` makes one");
}

void service_quota(struct service *s, const char *tenant, struct tenant *ret)
{
    if (tenants_by_name(s->c.tenants, tenant, ret) == 0) {
        tenant_local(&s->c.config->default_quota, ret);
    }
}

static void on_launcher(evutil_socket_t fd, short what, void *ctx)
{
    struct service *s = ctx;
    int r = 0;

    (void)fd;
    (void)what;
    do {
        struct launcher_answer answer = {.number = 0};
        struct err err = ERR_INIT;

        r = launcher_answer(s->c.launcher, &answer, &err);
        if (r < 0) {
            s->lost_launcher = true;
            (void)event_del(s->launcher_event);
            service_complain(s, "launcher-lost", NULL, &err);
            s->c.lost(s->c.ctx);
        } else if (r > 0) {
            runner_answer(s, &answer);
            upkeep_answer(s, &answer);
            launcher_answer_fini(&answer);
        }
    } while (r > 0);
    service_schedule(s);
}

static void on_kick(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    service_schedule(ctx);
}

static void on_upkeep(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    upkeep_tick(ctx);
}

static void export_gauges(void *ctx)
{
    struct service *s = ctx;
    struct queue_stats q = {0};
    struct jobstore_counts counts = {0};
    struct err ignored = ERR_INIT;
    const char *why = NULL;

    queue_stats(s->queue, clock_mono_ns(), &q);
    metrics_set(s->c.metrics, METRIC_QUEUE_LENGTH, 0, q.waiting);
    metrics_set(s->c.metrics, METRIC_RUNNING, 0, q.running);
    metrics_set(s->c.metrics, METRIC_CAPACITY_USED, METRIC_CAPACITY_MACHINES, q.taken.machines);
    metrics_set(s->c.metrics, METRIC_CAPACITY_USED, METRIC_CAPACITY_MEMORY, q.taken.memory_bytes);
    metrics_set(s->c.metrics, METRIC_CAPACITY_USED, METRIC_CAPACITY_VCPUS, q.taken.vcpus);
    metrics_set(s->c.metrics, METRIC_CAPACITY_USED, METRIC_CAPACITY_DISK, q.taken.disk_bytes);
    metrics_set(s->c.metrics, METRIC_CAPACITY_USED, METRIC_CAPACITY_PIDS, q.taken.processes);
    metrics_set(s->c.metrics, METRIC_CAPACITY_USED, METRIC_CAPACITY_FDS, q.taken.fds);
    metrics_set(s->c.metrics, METRIC_READY, 0, service_ready(s, &why));
    if (jobstore_counts(s->c.store, &counts, &ignored) == 0) {
        metrics_set(s->c.metrics, METRIC_KEPT_BYTES, 0, counts.kept_bytes);
    }
}

static int make_events(struct service *s, struct err *err)
{
    const struct timeval soon = {.tv_sec = 1};

    s->launcher_event =
        event_new(s->c.base, launcher_fd(s->c.launcher), EV_READ | EV_PERSIST, on_launcher, s);
    s->kick = evtimer_new(s->c.base, on_kick, s);
    s->upkeep = event_new(s->c.base, -1, EV_PERSIST, on_upkeep, s);
    if (s->launcher_event == NULL || s->kick == NULL || s->upkeep == NULL ||
        event_add(s->launcher_event, NULL) < 0 || event_add(s->upkeep, &soon) < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    return 0;
}

/* After recover_jobs(), which discards what nobody knows. */
static int make_remover(struct service *s, struct err *err)
{
    int r = remover_start(s->c.jobs_fd, &s->remover, err);

    if (r < 0) {
        return r;
    }
    s->removed = event_new(s->c.base, remover_fd(s->remover), EV_READ | EV_PERSIST, on_removed, s);
    if (s->removed == NULL || event_add(s->removed, NULL) < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    remover_ask(s->remover); /* what the last daemon did not finish */
    return 0;
}

static int make_queue(struct service *s, struct err *err)
{
    const struct queue_config config = {.queued_max = s->c.config->jobs_max,
                                        .bytes_max = s->c.config->queue_bytes};
    int r = queue_new(&config, &s->queue, err);

    return r < 0 ? r : rates_new(&s->rates, err);
}

int service_new(const struct service_config *config, struct service **ret, struct err *err)
{
    struct service *s = calloc(1, sizeof(*s));
    int r = 0;

    if (s == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    s->c = *config;
    plan_init(&s->plan);
    r = make_queue(s, err);
    if (r == 0) {
        r = make_events(s, err);
    }
    if (r == 0) {
        metrics_on_export(s->c.metrics, export_gauges, s);
        r = recover_jobs(s, err);
    }
    if (r == 0) {
        r = make_remover(s, err);
    }
    if (r < 0) {
        service_free(s);
        return r;
    }
    upkeep_tick(s);
    service_kick(s);
    *ret = s;
    return 0;
}

static void free_event(struct event *ev)
{
    if (ev != NULL) {
        event_free(ev);
    }
}

void service_free(struct service *s)
{
    if (s == NULL) {
        return;
    }
    while (s->active != NULL) {
        struct active *a = s->active;

        s->active = a->next;
        runner_free(a);
    }
    while (s->records != NULL) {
        struct asked_record *r = s->records;

        s->records = r->next;
        free(r);
    }
    free_event(s->launcher_event);
    free_event(s->kick);
    free_event(s->upkeep);
    free_event(s->removed);
    upkeep_wipe(s);
    remover_free(s->remover);
    json_decref(s->images);
    json_decref(s->capacity);
    queue_free(s->queue);
    rates_free(s->rates);
    plan_fini(&s->plan);
    free(s);
}

void service_drain(struct service *s)
{
    s->draining = true;
}

void service_cancel_all(struct service *s)
{
    for (struct active *a = s->active; a != NULL; a = a->next) {
        a->info.cancel = true;
        runner_cancel(a);
    }
}

size_t service_running(const struct service *s)
{
    size_t n = 0;

    for (const struct active *a = s->active; a != NULL; a = a->next) {
        n++;
    }
    return n;
}

void service_reloaded(struct service *s)
{
    tenants_set_defaults(s->c.tenants, &s->c.config->default_quota);
    s->upkeep_ns = 0; /* with the next tick those that wait are held to it as well */
    service_kick(s);
}
