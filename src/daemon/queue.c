/*
 * How it works: every job is an entry in a table by id, and in one line: that of its tenant and
 * priority while it waits, that of all slots while it has one. The sums (of the host, of each
 * tenant) change in two functions only, link_waiting() and queue_unlink_waiting(), and the two that
 * give a slot and take it back; queue_check() counts everything anew. All memory that a job will
 * ever need is taken when it comes in, so that nothing fails halfway later.
 */
#include "daemon/queue.h"

#include <errno.h>
#include <string.h>

#include "daemon/queue-internal.h"

#define MEAN_WEIGHT 8u /* a new job's part of the mean is 1 / 8 */
#define DISK_RETRY  (60 * NS_PER_S)
/* More than this no sum may be cut at, or taking back would not give what was. */
#define NUMBER_MAX (UINT64_MAX / (4ull * QUEUE_QUEUED_MAX))

static uint64_t or_default(uint64_t value, uint64_t other)
{
    return value != 0 ? value : other;
}

int queue_new(const struct queue_config *config, struct queue **ret, struct err *err)
{
    struct queue *q = NULL;

    if (config->queued_max > QUEUE_QUEUED_MAX || config->tenants_max > QUEUE_TENANTS_MAX) {
        return err_usage(err, "at most %u jobs and %u tenants can wait", QUEUE_QUEUED_MAX,
                         QUEUE_TENANTS_MAX);
    }
    q = calloc(1, sizeof(*q));
    if (q == NULL) {
        return err_sys_num(err, ENOMEM, "make a queue");
    }
    q->config = (struct queue_config){
        .queued_max = or_default(config->queued_max, QUEUE_QUEUED_DEFAULT),
        .bytes_max = or_default(config->bytes_max, UINT64_MAX),
        .tenants_max = or_default(config->tenants_max, QUEUE_TENANTS_MAX),
        .reserve_after_ns = or_default(config->reserve_after_ns, QUEUE_RESERVE_AFTER_DEFAULT),
        .overhead_ns = or_default(config->overhead_ns, QUEUE_OVERHEAD_DEFAULT),
        .lead_ns = config->lead_ns,
    };
    *ret = q;
    return 0;
}

void queue_free(struct queue *q)
{
    if (q == NULL) {
        return;
    }
    for (size_t i = 0; i < q->n_buckets; i++) {
        while (q->buckets[i] != NULL) {
            queue_forget(q, q->buckets[i]);
        }
    }
    for (size_t i = 0; i < q->n_tenants; i++) {
        free(q->tenants[i]);
    }
    for (size_t i = 0; i < QUEUE_HEAPS; i++) {
        free(q->heaps[i].v);
    }
    free(q->tenants);
    free(q->order);
    free(q->slots);
    free(q->buckets);
    free(q);
}

void queue_set_total(struct queue *q, const struct capacity_need *total)
{
    q->total = *total;
    q->total_known = true;
    for (size_t i = 0; i < q->n_tenants; i++) {
        q->tenants[i]->share = queue_share(q, &q->tenants[i]->taken);
    }
}

void queue_set_quota(struct queue *q, const char *tenant, const struct queue_quota *quota)
{
    struct queue_tenant *t = queue_tenant_find(q, tenant);

    if (t != NULL) {
        t->quota = *quota;
    }
}

/* --- lines and sums --- */

static void line_add_after(struct queue_line *line, struct queue_entry *after,
                           struct queue_entry *e)
{
    e->prev = after;
    e->next = after != NULL ? after->next : line->first;
    *(e->prev != NULL ? &e->prev->next : &line->first) = e;
    *(e->next != NULL ? &e->next->prev : &line->last) = e;
}

static void line_remove(struct queue_line *line, struct queue_entry *e)
{
    *(e->prev != NULL ? &e->prev->next : &line->first) = e->next;
    *(e->next != NULL ? &e->next->prev : &line->last) = e->prev;
    e->prev = NULL;
    e->next = NULL;
}

/*
 * Who was idle begins where the others are: time in which nobody asked is no credit, and what was
 * used while the others did not ask is no debt.
 */
static void wake_tenant(struct queue *q, struct queue_tenant *t)
{
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;

    q->clock++;
    t->last_active = q->clock;
    if (t->waiting > 0 || t->running > 0) {
        return;
    }
    for (size_t i = 0; i < q->n_tenants; i++) {
        const struct queue_tenant *other = q->tenants[i];

        if (other->waiting > 0 || other->running > 0) {
            least = other->used < least ? other->used : least;
            most = other->used > most ? other->used : most;
        }
    }
    if (least != UINT64_MAX) {
        t->used = t->used < least ? least : t->used;
        t->used = t->used > most ? most : t->used;
    }
}

/* Into its line by age: a new one is the last, one that comes back stands where it stood. */
static void link_waiting(struct queue *q, struct queue_entry *e, uint64_t now_ns)
{
    struct queue_tenant *t = e->tenant;
    struct queue_line *line = &t->lines[e->job.priority];
    struct queue_entry *after = NULL;

    wake_tenant(q, t);
    if (line->last != NULL && line->last->seq < e->seq) {
        after = line->last;
    } else {
        for (struct queue_entry *at = line->first; at != NULL && at->seq < e->seq; at = at->next) {
            after = at;
        }
    }
    line_add_after(line, after, e);
    t->waiting++;
    t->bytes += e->job.bytes;
    q->n_waiting++;
    q->bytes += e->job.bytes;
    if (e->job.deadline_ns != 0) {
        queue_heap_add(q, QUEUE_BY_LATENESS, e);
    }
    if (e->not_before_ns > now_ns) {
        queue_heap_add(q, QUEUE_BY_WAIT, e);
    }
}

void queue_unlink_waiting(struct queue *q, struct queue_entry *e)
{
    struct queue_tenant *t = e->tenant;

    line_remove(&t->lines[e->job.priority], e);
    t->waiting--;
    t->bytes -= e->job.bytes;
    q->n_waiting--;
    q->bytes -= e->job.bytes;
    for (size_t i = 0; i < QUEUE_HEAPS; i++) {
        queue_heap_remove(q, (enum queue_heap_kind)i, e);
    }
    q->clock++;
    t->last_active = q->clock;
}

void queue_give_slot(struct queue *q, struct queue_entry *e, uint64_t now_ns)
{
    struct queue_tenant *t = e->tenant;

    queue_unblock(q, e);
    queue_unlink_waiting(q, e);
    e->has_slot = true;
    e->taken_ns = now_ns;
    e->started_ns = 0;
    e->not_before_ns = 0;
    line_add_after(&q->running, q->running.last, e);
    t->running++;
    q->n_running++;
    capacity_add(&t->taken, &e->job.need);
    t->share = queue_share(q, &t->taken);
    capacity_add(&q->taken, &e->job.need);
}

static void take_slot_back(struct queue *q, struct queue_entry *e)
{
    struct queue_tenant *t = e->tenant;

    line_remove(&q->running, e);
    e->has_slot = false;
    t->running--;
    q->n_running--;
    capacity_sub(&t->taken, &e->job.need);
    t->share = queue_share(q, &t->taken);
    capacity_sub(&q->taken, &e->job.need);
    q->clock++;
    t->last_active = q->clock;
}

/* --- in --- */

static bool need_ok(const struct capacity_need *need)
{
    for (size_t i = 0; i < CAPACITY_RESOURCES; i++) {
        if (capacity_get(need, (enum capacity_resource)i) > NUMBER_MAX) {
            return false;
        }
    }
    return true;
}

static int check_job(const struct queue *q, const struct queue_job *job,
                     const struct queue_quota *quota, struct err *err)
{
    if (!job_id_ok(job->id) || memchr(job->tenant, '\0', sizeof(job->tenant)) == NULL ||
        job->tenant[0] == '\0') {
        return err_usage(err, "no such job can be queued: its id or its tenant is no name");
    }
    if (job->priority > JOB_PRIORITY_MAX || quota->concurrent == 0 || quota->queued == 0 ||
        !need_ok(&job->need) || job->bytes > NUMBER_MAX) {
        return err_usage(err, "no such job can be queued: a number is out of range");
    }
    if (queue_find(q, job->id) != NULL) {
        return err_set(err, ERR_USAGE, EEXIST, "job %s is in the queue already", job->id);
    }
    return 0;
}

static int enter(struct queue *q, const struct queue_job *job, struct queue_tenant *t,
                 uint64_t now_ns, struct err *err)
{
    struct queue_entry *e = calloc(1, sizeof(*e));

    if (e == NULL) {
        return err_sys_num(err, ENOMEM, "queue a job");
    }
    *e = (struct queue_entry){
        .job = *job,
        .tenant = t,
        .seq = q->next_seq,
        .put_ns = now_ns,
        .blocked_ns = QUEUE_NOT_BLOCKED,
    };
    if (queue_insert(q, e) < 0) {
        free(e);
        return err_sys_num(err, ENOMEM, "queue a job");
    }
    q->next_seq++;
    link_waiting(q, e, now_ns);
    return 0;
}

static bool host_full(const struct queue *q, const struct queue_job *job)
{
    return q->n_waiting >= q->config.queued_max || q->bytes > q->config.bytes_max ||
           job->bytes > q->config.bytes_max - q->bytes;
}

/* Fills the answer. True: refused. */
static bool refuse(const struct queue *q, const struct queue_job *job,
                   const struct queue_quota *quota, uint64_t now_ns, struct queue_answer *answer)
{
    const struct queue_tenant *t = queue_tenant_find(q, job->tenant);
    uint64_t start = 0;

    *answer = (struct queue_answer){.verdict = QUEUE_ACCEPTED};
    if (q->total_known && !capacity_fits(&q->total, &job->need, &answer->too_little)) {
        /* Of all resources only the disk's whole is what is free now. */
        bool for_now = answer->too_little == CAPACITY_DISK;

        answer->verdict = for_now ? QUEUE_HOST_FULL : QUEUE_TOO_LARGE;
        answer->retry_after_s = for_now ? queue_seconds(DISK_RETRY) : 0;
    } else if (t != NULL && t->waiting >= quota->queued) {
        answer->verdict = QUEUE_TENANT_FULL;
        answer->retry_after_s = queue_retry_after_s(q, job->tenant, now_ns);
    } else if (host_full(q, job)) {
        start = queue_expect(q, NULL, NULL, now_ns);
        answer->verdict = QUEUE_HOST_FULL;
        answer->retry_after_s = queue_seconds(start == QUEUE_NEVER ? DISK_RETRY : start - now_ns);
    } else if (job->deadline_ns != 0) {
        start = queue_expect(q, job->tenant, job, now_ns);
        /* What can't be told is no reason: the job may be lucky, or expires. */
        start = queue_add_ns(start == QUEUE_NEVER ? now_ns : start, q->config.lead_ns);
        if (start > job->deadline_ns) {
            answer->verdict = QUEUE_TOO_LATE;
            answer->retry_after_s = queue_seconds(start - job->deadline_ns);
        }
    }
    return answer->verdict != QUEUE_ACCEPTED;
}

int queue_put(struct queue *q, const struct queue_job *job, const struct queue_quota *quota,
              uint64_t now_ns, struct queue_answer *ret_answer, struct err *err)
{
    struct queue_answer answer = {0};
    struct queue_tenant *t = NULL;
    int r = check_job(q, job, quota, err);

    if (r < 0) {
        return r;
    }
    if (refuse(q, job, quota, now_ns, &answer)) {
        *ret_answer = answer;
        return 0;
    }
    r = queue_tenant_get(q, job->tenant, &t);
    if (r == -ENOSPC) {
        *ret_answer = (struct queue_answer){.verdict = QUEUE_HOST_FULL,
                                            .retry_after_s = queue_seconds(DISK_RETRY)};
        return 0;
    }
    if (r < 0) {
        return err_sys_num(err, -r, "queue a job");
    }
    t->quota = *quota;
    r = enter(q, job, t, now_ns, err);
    if (r == 0) {
        *ret_answer = answer;
    }
    return r;
}

int queue_restore(struct queue *q, const struct queue_job *job, const struct queue_quota *quota,
                  uint64_t now_ns, struct err *err)
{
    struct queue_tenant *t = NULL;
    int r = check_job(q, job, quota, err);

    if (r < 0) {
        return r;
    }
    r = queue_tenant_get(q, job->tenant, &t);
    if (r < 0) {
        return err_sys_num(err, -r, "queue a job of an earlier run");
    }
    t->quota = *quota;
    return enter(q, job, t, now_ns, err);
}

/* --- with a slot, and out --- */

static int find_slot(const struct queue *q, const char *id, struct queue_entry **ret,
                     struct err *err)
{
    struct queue_entry *e = queue_find(q, id);

    if (e == NULL || !e->has_slot) {
        return err_set(err, ERR_USAGE, ENOENT, "job %.32s has no slot", id);
    }
    *ret = e;
    return 0;
}

int queue_started(struct queue *q, const char *id, uint64_t now_ns, struct err *err)
{
    struct queue_entry *e = NULL;
    int r = find_slot(q, id, &e, err);

    if (r == 0) {
        e->started_ns = now_ns;
    }
    return r;
}

int queue_requeue(struct queue *q, const char *id, enum queue_again why, uint64_t not_before_ns,
                  uint64_t now_ns, struct err *err)
{
    struct queue_entry *e = NULL;
    int r = find_slot(q, id, &e, err);

    if (r < 0) {
        return r;
    }
    take_slot_back(q, e);
    e->not_before_ns = not_before_ns;
    link_waiting(q, e, now_ns);
    if (why == QUEUE_AGAIN_NO_CAPACITY) {
        queue_block(q, e, now_ns);
    }
    return 0;
}

static void learn(struct queue_tenant *t, uint64_t held_ns)
{
    if (t->mean_jobs == 0) {
        t->mean_ns = held_ns;
    } else {
        t->mean_ns = t->mean_ns - t->mean_ns / MEAN_WEIGHT + held_ns / MEAN_WEIGHT;
    }
    if (t->mean_jobs < QUEUE_MEAN_JOBS) {
        t->mean_jobs++;
    }
}

int queue_ended(struct queue *q, const char *id, bool charged, uint64_t now_ns, struct err *err)
{
    struct queue_entry *e = NULL;
    int r = find_slot(q, id, &e, err);

    if (r < 0) {
        return r;
    }
    take_slot_back(q, e);
    if (charged) {
        uint64_t held = now_ns > e->taken_ns ? now_ns - e->taken_ns : 0;

        e->tenant->used = queue_add_ns(e->tenant->used, queue_use(q, &e->job.need, held));
        learn(e->tenant, held);
    }
    queue_forget(q, e);
    return 0;
}

static void leave(struct queue *q, struct queue_entry *e)
{
    queue_unblock(q, e);
    queue_unlink_waiting(q, e);
    queue_forget(q, e);
}

int queue_remove(struct queue *q, const char *id, struct err *err)
{
    struct queue_entry *e = queue_find(q, id);

    (void)err; /* a remote one has use for it */
    if (e == NULL || e->has_slot) {
        return 0;
    }
    leave(q, e);
    return 1;
}

int queue_expire(struct queue *q, uint64_t now_ns, struct queue_job *ret, struct err *err)
{
    struct queue_entry *e = queue_heap_first(q, QUEUE_BY_LATENESS);

    (void)err;
    if (e == NULL || queue_late_at(q, e) > now_ns) {
        return 0;
    }
    *ret = e->job;
    leave(q, e);
    return 1;
}

/* --- looks --- */

uint64_t queue_wake_ns(const struct queue *q, uint64_t now_ns)
{
    const struct queue_entry *late = queue_heap_first(q, QUEUE_BY_LATENESS);
    const struct queue_entry *wait = queue_heap_first(q, QUEUE_BY_WAIT);
    uint64_t wake = QUEUE_NEVER;

    if (late != NULL && queue_late_at(q, late) < wake) {
        wake = queue_late_at(q, late);
    }
    if (wait != NULL && wait->not_before_ns < wake) {
        wake = wait->not_before_ns;
    }
    if (q->reserved != NULL && q->reserved_until_ns < wake) {
        wake = q->reserved_until_ns;
    }
    return wake < now_ns ? now_ns : wake;
}

static uint64_t oldest(const struct queue_tenant *t)
{
    uint64_t ns = UINT64_MAX;

    for (size_t i = 0; i < QUEUE_PRIORITIES; i++) {
        const struct queue_entry *e = t->lines[i].first;

        if (e != NULL && e->put_ns < ns) {
            ns = e->put_ns;
        }
    }
    return ns;
}

void queue_stats(const struct queue *q, uint64_t now_ns, struct queue_stats *ret)
{
    uint64_t since = UINT64_MAX;

    *ret = (struct queue_stats){
        .waiting = q->n_waiting,
        .running = q->n_running,
        .bytes = q->bytes,
        .taken = q->taken,
        .reserved = q->reserved != NULL,
    };
    for (size_t i = 0; i < q->n_tenants; i++) {
        const struct queue_tenant *t = q->tenants[i];
        uint64_t first = oldest(t);

        ret->tenants += t->waiting > 0 || t->running > 0 ? 1 : 0;
        since = first < since ? first : since;
    }
    ret->oldest_wait_ns = since < now_ns ? now_ns - since : 0;
}
