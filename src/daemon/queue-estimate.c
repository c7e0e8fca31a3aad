/*
 * How it works: the schedule is played ahead on copies of the sums. A job holds its slot as long as
 * the last ones of its tenant did, at most as long as its wall limit allows; one that runs longer
 * than that is taken to need all of its limit. Nobody overtakes (no backfill), and what others than
 * us hold of the host is taken to stay. So it is an expectation: not a promise, and not the worst
 * case. The work is bounded by STEPS_MAX; what lies beyond is answered with the time reached so
 * far.
 */
#include "daemon/queue-internal.h"

#define STEPS_MAX     200000u /* looks at a tenant; about a millisecond */
#define RETRY_UNKNOWN 60u
#define RETRY_MAX     3600u

struct played_tenant {
    const struct queue_tenant *tenant;
    const struct queue_entry *next; /* in its line; NULL: look in the next lower one */
    size_t priority;                /* of that line; 0 and next NULL: none are left */
    struct capacity_need taken;
    uint64_t running, used, share;
};

struct played_job {
    uint64_t end_ns, held_ns;
    const struct capacity_need *need;
    size_t tenant;
};

struct play {
    const struct queue *q;
    struct played_tenant *tenants;
    size_t n_tenants;
    struct played_job *jobs; /* a heap by end_ns */
    size_t n_jobs, cap_jobs;
    struct capacity_need room;
    uint64_t now_ns;
    const struct queue_job *asked; /* not in the queue yet; or NULL */
    size_t asked_tenant;           /* SIZE_MAX: any */
    uint64_t steps;
};

uint64_t queue_add_ns(uint64_t a, uint64_t b)
{
    uint64_t sum = 0;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t queue_share(const struct queue *q, const struct capacity_need *taken)
{
    return taken->machines == 0 ? 0 : capacity_share(&q->total, taken);
}

uint64_t queue_use(const struct queue *q, const struct capacity_need *need, uint64_t held_ns)
{
    unsigned __int128 use = (unsigned __int128)capacity_share(&q->total, need) * held_ns;

    use /= NS_PER_MS;
    return use >= UINT64_MAX ? UINT64_MAX : (uint64_t)use + 1; /* nothing is for nothing */
}

/* Longest that a job holds its slot once its program runs. */
static uint64_t longest(const struct queue *q, const struct queue_job *job)
{
    return queue_add_ns(job->wall_ns, q->config.overhead_ns);
}

uint64_t queue_bound_ns(const struct queue *q, const struct queue_entry *e, uint64_t now_ns)
{
    uint64_t since = e->started_ns != 0 ? e->started_ns : e->taken_ns;
    uint64_t end = queue_add_ns(since, longest(q, &e->job));

    return end > now_ns ? end : now_ns;
}

static uint64_t expected_hold(const struct queue *q, const struct queue_tenant *t,
                              const struct queue_job *job)
{
    uint64_t most = longest(q, job);

    return t != NULL && t->mean_jobs >= QUEUE_MEAN_JOBS && t->mean_ns < most ? t->mean_ns : most;
}

static uint64_t expected_end(const struct queue *q, const struct queue_entry *e, uint64_t now_ns)
{
    uint64_t end = queue_add_ns(e->taken_ns, expected_hold(q, e->tenant, &e->job));

    return end > now_ns ? end : queue_bound_ns(q, e, now_ns);
}

/* --- the heap of those that run --- */

static void push(struct play *p, const struct played_job *job)
{
    size_t i = p->n_jobs;

    p->n_jobs++;
    while (i > 0 && job->end_ns < p->jobs[(i - 1) / 2].end_ns) {
        p->jobs[i] = p->jobs[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    p->jobs[i] = *job;
}

static struct played_job pop(struct play *p)
{
    struct played_job first = p->jobs[0];
    struct played_job last = p->jobs[p->n_jobs - 1];
    size_t i = 0;

    p->n_jobs--;
    while (2 * i + 1 < p->n_jobs) {
        size_t child = 2 * i + 1;

        if (child + 1 < p->n_jobs && p->jobs[child + 1].end_ns < p->jobs[child].end_ns) {
            child++;
        }
        if (last.end_ns <= p->jobs[child].end_ns) {
            break;
        }
        p->jobs[i] = p->jobs[child];
        i = child;
    }
    p->jobs[i] = last;
    return first;
}

/* --- the play --- */

static void start(struct play *p, size_t tenant, const struct queue_job *job, uint64_t end_ns)
{
    struct played_tenant *t = &p->tenants[tenant];

    capacity_add(&t->taken, &job->need);
    t->running++;
    t->share = queue_share(p->q, &t->taken);
    push(p, &(struct played_job){.end_ns = end_ns,
                                 .held_ns = end_ns - p->now_ns,
                                 .need = &job->need,
                                 .tenant = tenant});
}

static void end_next(struct play *p)
{
    struct played_job job = pop(p);
    struct played_tenant *t = &p->tenants[job.tenant];

    p->now_ns = job.end_ns;
    capacity_add(&p->room, job.need);
    capacity_sub(&t->taken, job.need);
    t->running--;
    t->share = queue_share(p->q, &t->taken);
    t->used = queue_add_ns(t->used, queue_use(p->q, job.need, job.held_ns));
}

/* To the next job in the tenant's order, from before `next`. */
static void settle(struct played_tenant *t)
{
    while (t->next == NULL && t->priority > 0) {
        t->priority--;
        t->next = t->tenant != NULL ? t->tenant->lines[t->priority].first : NULL;
    }
}

/* The tenant's next job; the one that is asked about stands last in its priority. */
static const struct queue_job *next_job(const struct play *p, size_t i)
{
    const struct played_tenant *t = &p->tenants[i];

    if (p->asked != NULL && i == p->asked_tenant &&
        (t->next == NULL || t->next->job.priority < p->asked->priority)) {
        return p->asked;
    }
    return t->next != NULL ? &t->next->job : NULL;
}

static uint64_t concurrent(const struct played_tenant *t)
{
    return t->tenant != NULL ? t->tenant->quota.concurrent : UINT64_MAX;
}

/* SIZE_MAX: nobody may start another one now. */
static size_t pick(struct play *p)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < p->n_tenants; i++) {
        const struct played_tenant *t = &p->tenants[i];

        if (t->running >= concurrent(t) || next_job(p, i) == NULL) {
            continue;
        }
        if (best == SIZE_MAX || t->share < p->tenants[best].share ||
            (t->share == p->tenants[best].share && t->used < p->tenants[best].used)) {
            best = i;
        }
    }
    p->steps += p->n_tenants;
    return best;
}

static bool is_asked(const struct play *p, size_t tenant, const struct queue_job *job)
{
    if (p->asked != NULL) {
        return job == p->asked;
    }
    return p->asked_tenant == SIZE_MAX || p->asked_tenant == tenant;
}

static uint64_t play(struct play *p)
{
    while (p->steps < STEPS_MAX) {
        size_t i = pick(p);
        const struct queue_job *job = i != SIZE_MAX ? next_job(p, i) : NULL;

        if (job == NULL || p->n_jobs == p->cap_jobs || !capacity_fits(&p->room, &job->need, NULL)) {
            if (p->n_jobs == 0) {
                return QUEUE_NEVER;
            }
            end_next(p);
            continue;
        }
        if (is_asked(p, i, job)) {
            return p->now_ns;
        }
        capacity_sub(&p->room, &job->need);
        p->tenants[i].next = p->tenants[i].next->next;
        settle(&p->tenants[i]);
        start(p, i, job, queue_add_ns(p->now_ns, expected_hold(p->q, p->tenants[i].tenant, job)));
    }
    return p->now_ns;
}

static size_t add_tenants(struct play *p, const char *asked)
{
    const struct queue_tenant *wanted = asked != NULL ? queue_tenant_find(p->q, asked) : NULL;
    size_t which = SIZE_MAX;

    for (size_t i = 0; i < p->q->n_tenants; i++) {
        const struct queue_tenant *t = p->q->tenants[i];

        if (t->waiting == 0 && t->running == 0 && t != wanted) {
            continue;
        }
        if (t == wanted) {
            which = p->n_tenants;
        }
        p->tenants[p->n_tenants] = (struct played_tenant){
            .tenant = t,
            .priority = QUEUE_PRIORITIES,
            .used = t->used,
        };
        settle(&p->tenants[p->n_tenants]);
        p->n_tenants++;
    }
    if (wanted == NULL && asked != NULL) { /* it has never been here */
        which = p->n_tenants;
        p->tenants[which] = (struct played_tenant){0};
        p->n_tenants++;
    }
    return which;
}

static size_t index_of(const struct play *p, const struct queue_tenant *t)
{
    size_t i = 0;

    while (p->tenants[i].tenant != t) {
        i++;
    }
    return i;
}

uint64_t queue_expect(const struct queue *q, const char *tenant, const struct queue_job *job,
                      uint64_t now_ns)
{
    /* No more can run at once than what is there, and one that takes a machine each. */
    size_t cap = q->n_running + (q->n_waiting < LEDGER_NUMBERS ? q->n_waiting : LEDGER_NUMBERS) + 1;
    auto_free struct played_tenant *tenants = calloc(q->n_tenants + 1, sizeof(*tenants));
    auto_free struct played_job *jobs = calloc(cap, sizeof(*jobs));
    struct play p = {
        .q = q,
        .tenants = tenants,
        .jobs = jobs,
        .cap_jobs = cap,
        .room = q->total,
        .now_ns = now_ns,
        .asked = job,
    };

    if (tenants == NULL || jobs == NULL || !q->total_known) {
        return QUEUE_NEVER;
    }
    p.asked_tenant = add_tenants(&p, tenant);
    capacity_sub(&p.room, &q->taken);
    capacity_sub(&p.room, &q->elsewhere);
    for (const struct queue_entry *e = q->running.first; e != NULL; e = e->next) {
        start(&p, index_of(&p, e->tenant), &e->job, expected_end(q, e, now_ns));
    }
    return play(&p);
}

uint64_t queue_seconds(uint64_t wait_ns)
{
    uint64_t s = wait_ns / NS_PER_S + (wait_ns % NS_PER_S != 0 ? 1 : 0);

    s = s < 1 ? 1 : s;
    return s > RETRY_MAX ? RETRY_MAX : s;
}

uint64_t queue_retry_after_s(const struct queue *q, const char *tenant, uint64_t now_ns)
{
    uint64_t at = queue_expect(q, tenant, NULL, now_ns);

    return at == QUEUE_NEVER ? RETRY_UNKNOWN : queue_seconds(at - now_ns);
}
