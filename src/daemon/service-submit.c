/* service-submit.c - a request becomes a job that waits, or nothing is left of it. */
#include <errno.h>
#include <string.h>

#include "daemon/problem.h"
#include "daemon/service-internal.h"
#include "job/spec-wire.h"
#include "sys/clock.h"
#include "sys/unique.h"

struct submission {
    struct service *s;
    const struct tenant *tenant;
    struct service_job *job;
    struct job_info info;
    struct queue_job queued;
    struct buf wire; /* the specification; wiped at the end */
    uint64_t now_ns;
    struct refusal *refusal;
};

static void submission_fini(struct submission *sub)
{
    buf_wipe(&sub->wire);
}

static void count_refused(struct service *s, enum metric_refusal why)
{
    metrics_add(s->c.metrics, METRIC_JOBS_REFUSED, why, 1);
}

/* 1: the key named an accepted job; 0: it is new, or there is none. */
static int look_up_key(struct submission *sub, struct err *err)
{
    struct service *s = sub->s;
    struct jobstore_key known;
    int r = 0;

    if (sub->job->key[0] == '\0') {
        return 0;
    }
    r = jobstore_key(s->c.store, sub->tenant->name, sub->job->key, service_real_ms(), &known, err);
    if (r <= 0) {
        return r;
    }
    if (!digest_equal(&known.body, &sub->job->body)) {
        return problem_set(sub->refusal, PROBLEM_KEY_REUSED, "Idempotency-Key",
                           "this key came with another body before; use a new key");
    }
    r = jobstore_get(s->c.store, sub->tenant->name, known.id, &sub->info, err);
    return r < 0 ? r : 1;
}

static int refuse_later(struct submission *sub, enum problem problem, enum metric_refusal why,
                        uint64_t retry_s, const char *text)
{
    int r = problem_set(sub->refusal, problem, "", "%s", text);

    sub->refusal->retry_after_s = retry_s;
    count_refused(sub->s, why);
    return r;
}

static int refuse_answer(struct submission *sub, const struct queue_answer *answer)
{
    switch (answer->verdict) {
    case QUEUE_HOST_FULL:
        return refuse_later(sub, PROBLEM_QUEUE_FULL, METRIC_REFUSAL_QUEUE, answer->retry_after_s,
                            "as many jobs wait as may; try again later");
    case QUEUE_TENANT_FULL:
        return refuse_later(sub, PROBLEM_TENANT_QUEUE, METRIC_REFUSAL_TENANT_QUEUE,
                            answer->retry_after_s,
                            "as many of your jobs wait as may; try again later");
    case QUEUE_TOO_LATE:
        return refuse_later(sub, PROBLEM_DEADLINE, METRIC_REFUSAL_DEADLINE, answer->retry_after_s,
                            "the job can't be expected to start before its deadline");
    case QUEUE_TOO_LARGE:
        count_refused(sub->s, METRIC_REFUSAL_CAPACITY);
        return problem_set(sub->refusal, PROBLEM_FORBIDDEN, "limits",
                           "the job needs more %s than this host has for all jobs together",
                           capacity_name(answer->too_little));
    case QUEUE_ACCEPTED:
        break;
    }
    return 0;
}

static int take_rate(struct submission *sub)
{
    const struct tenant_quota *q = &sub->tenant->quota;
    struct rate *rate = NULL;
    uint64_t wait_ns = NS_PER_S;

    if (q->rate_per_minute == 0) {
        return 0;
    }
    rate = rates_of(sub->s->rates, sub->tenant->name, sub->now_ns);
    if (rate == NULL ||
        !rate_take(rate, q->rate_per_minute, q->rate_burst, sub->now_ns, &wait_ns)) {
        return refuse_later(sub, PROBLEM_RATE, METRIC_REFUSAL_RATE, wait_ns / NS_PER_S + 1,
                            "more jobs a minute than your quota allows");
    }
    return 0;
}

static void give_rate_back(struct submission *sub)
{
    struct rate *rate = sub->tenant->quota.rate_per_minute == 0
                            ? NULL
                            : rates_of(sub->s->rates, sub->tenant->name, sub->now_ns);

    if (rate != NULL) {
        rate_give_back(rate, sub->tenant->quota.rate_per_minute);
    }
}

static int encode(struct submission *sub, struct err *err)
{
    const struct service_job *job = sub->job;
    struct queue_job *q = &sub->queued;
    struct job_info *info = &sub->info;
    uint64_t real_ms = service_real_ms();
    int r = unique_id(info->id, err);

    if (r == 0) {
        r = spec_encode(&job->spec, &sub->wire, err);
    }
    if (r < 0) {
        return r;
    }
    memcpy(info->tenant, sub->tenant->name, sizeof(info->tenant));
    info->state = JOB_QUEUED;
    info->priority = job->priority;
    info->created_ms = real_ms;
    info->deadline_ms = job->deadline_ms != 0 ? real_ms + job->deadline_ms : 0;
    info->verdict = -1;
    info->kept_bytes = sub->wire.len;
    memcpy(q->id, info->id, sizeof(q->id));
    memcpy(q->tenant, info->tenant, sizeof(q->tenant));
    q->priority = job->priority;
    q->bytes = sub->wire.len;
    q->wall_ns = job->spec.limits.wall_ns;
    q->deadline_ns = job->deadline_ms != 0 ? sub->now_ns + job->deadline_ms * NS_PER_MS : 0;
    capacity_need_of(&job->spec, &q->need);
    return 0;
}

static int keep(struct submission *sub, struct err *err)
{
    struct service *s = sub->s;
    auto_jobfiles struct jobfiles files = JOBFILES_INIT;
    int r = jobfiles_create(s->c.jobs_fd, sub->info.id, &files, err);

    if (r == 0) {
        r = jobfiles_put_spec(&files, sub->wire.data, sub->wire.len, err);
    }
    if (r == 0) {
        r = jobfiles_put_state(&files, JOB_QUEUED, err);
    }
    if (r == 0) {
        r = jobstore_insert(s->c.store, &sub->info, sub->job->key, &sub->job->body, err);
    }
    return r;
}

/* The disk is full: a clear refusal, and the same request works when there is room again. */
static int refuse_room(struct submission *sub, int r, const struct err *err)
{
    if (err->class != ERR_LIMIT) {
        return r;
    }
    service_complain(sub->s, "no-room", NULL, err);
    return refuse_later(sub, PROBLEM_BUSY, METRIC_REFUSAL_CAPACITY, 10,
                        "there is no room on the host's disk for another job; try again later");
}

static int take_in(struct submission *sub, struct err *err)
{
    struct service *s = sub->s;
    const struct queue_quota quota = {.concurrent = sub->tenant->quota.concurrent,
                                      .queued = sub->tenant->quota.queued};
    struct queue_answer answer = {.verdict = QUEUE_ACCEPTED};
    struct err ignored = ERR_INIT;
    int r = queue_put(s->queue, &sub->queued, &quota, sub->now_ns, &answer, err);

    if (r < 0) {
        return r;
    }
    r = refuse_answer(sub, &answer);
    if (r < 0) {
        return r;
    }
    r = keep(sub, err);
    if (r < 0) {
        (void)!queue_remove(s->queue, sub->info.id, &ignored);
        ignored = (struct err)ERR_INIT;
        (void)!jobfiles_discard(s->c.jobs_fd, sub->info.id, false, &ignored);
        remover_ask(s->remover);
        return refuse_room(sub, r, err);
    }
    return 0;
}

/* Known beforehand: no machine of this host is of the class that the job, or its tenant, asks for. */
static int check_engine(struct submission *sub)
{
    const char *best = json_string_value(json_object_get(sub->s->capacity, "isolation"));

    if (sub->job->spec.isolation != SPEC_ISOLATION_HARDWARE || best == NULL ||
        strcmp(best, "hardware") == 0) {
        return 0;
    }
    count_refused(sub->s, METRIC_REFUSAL_QUOTA);
    return problem_set(sub->refusal, PROBLEM_FORBIDDEN, "isolation",
                       "this host has no hardware isolation; %s",
                       sub->tenant->quota.isolation == SPEC_ISOLATION_HARDWARE
                           ? "its operator can let your tenant use emulated machines "
                             "(airlock token new --isolation emulated)"
                           : "leave out \"isolation\": \"hardware\" to use emulated machines");
}

static int submit(struct submission *sub, struct err *err)
{
    struct service *s = sub->s;
    int r = look_up_key(sub, err);

    if (r != 0) {
        return r;
    }
    if (s->draining || s->lost_launcher) {
        return refuse_later(sub, PROBLEM_DRAINING, METRIC_REFUSAL_DRAINING, 10,
                            "airlockd is going to end and takes no more jobs");
    }
    if (s->wipe_bytes + s->wiping_bytes > s->c.config->queue_bytes) { /* the disk is no faster */
        return refuse_later(sub, PROBLEM_BUSY, METRIC_REFUSAL_CAPACITY, 1,
                            "too much of ended jobs is still to be overwritten; try again later");
    }
    if (!tenant_allows(sub->tenant, &sub->job->spec, sub->refusal)) {
        count_refused(s, METRIC_REFUSAL_QUOTA);
        return -EINVAL;
    }
    r = check_engine(sub);
    if (r == 0) {
        r = take_rate(sub);
    }
    if (r < 0) {
        return r;
    }
    r = encode(sub, err);
    if (r == 0) {
        r = take_in(sub, err);
    }
    if (r < 0) {
        give_rate_back(sub);
        return r;
    }
    plan_note(&s->plan, &sub->job->spec);
    metrics_add(s->c.metrics, METRIC_JOBS_ACCEPTED, 0, 1);
    log_event(s->c.log, LOG_INFO, "job-accepted", sub->info.id,
              LOG_TEXT("tenant", sub->tenant->name), LOG_NUMBER("priority", sub->job->priority),
              LOG_NUMBER("bytes", sub->wire.len));
    return 0;
}

int service_submit(struct service *s, const struct tenant *tenant, struct service_job *job,
                   struct job_info *ret, struct refusal *ret_refusal, struct err *err)
{
    on_scope_exit(submission_fini) struct submission sub = {.s = s,
                                                            .tenant = tenant,
                                                            .job = job,
                                                            .wire = BUF_INIT(SPEC_WIRE_MAX),
                                                            .now_ns = clock_mono_ns(),
                                                            .refusal = ret_refusal};
    int r = submit(&sub, err);

    if (r < 0) {
        return r;
    }
    *ret = sub.info;
    if (r == 0) {
        struct job_info now;
        struct err why = ERR_INIT;

        service_schedule(s); /* so that what could run at once does not count as waiting */
        if (jobstore_get(s->c.store, tenant->name, sub.info.id, &now, &why) == 0) {
            *ret = now;
        } else { /* it is accepted all the same, and whoever submitted must hear of it */
            service_complain(s, "store", sub.info.id, &why);
        }
    }
    return r;
}
