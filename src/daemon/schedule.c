/*
 * How it works: of each tenant that may start another job only the first one that is ready is
 * looked at. These stand in the order of queue.h, and the first one that fits is taken. Who stood
 * before it and did not fit was overtaken: it is "blocked" from then on, and after reserve_after_ns
 * the one that is blocked longest has room reserved ("EASY backfill": Lifka, The ANL/IBM SP
 * Scheduling System, 1995). Its start is the first moment at which enough of the running jobs have
 * ended by their wall limits; until it starts others are taken only if they end before that moment,
 * or need only what is then left beside it. A reservation that does not come true (others than us
 * hold the room, or a machine does not end) ends RESERVE_GRACE_NS after that moment, and the job
 * queues up for another: one job that never fits can't stop the host.
 */
#include "base/sort.h"

#include "daemon/queue-internal.h"

#define RESERVE_GRACE_NS (5 * NS_PER_S)

/* When the reserved job can start, and what is then left beside it. */
struct shadow {
    uint64_t start_ns;
    struct capacity_need extra;
};

/* --- the blocked: longest first --- */

void queue_block(struct queue *q, struct queue_entry *e, uint64_t now_ns)
{
    if (e->blocked_ns != QUEUE_NOT_BLOCKED) {
        return;
    }
    e->blocked_ns = now_ns;
    e->blocked_prev = q->blocked.last;
    e->blocked_next = NULL;
    *(q->blocked.last != NULL ? &q->blocked.last->blocked_next : &q->blocked.first) = e;
    q->blocked.last = e;
}

void queue_unblock(struct queue *q, struct queue_entry *e)
{
    if (e->blocked_ns == QUEUE_NOT_BLOCKED) {
        return;
    }
    *(e->blocked_prev != NULL ? &e->blocked_prev->blocked_next : &q->blocked.first) =
        e->blocked_next;
    *(e->blocked_next != NULL ? &e->blocked_next->blocked_prev : &q->blocked.last) =
        e->blocked_prev;
    e->blocked_ns = QUEUE_NOT_BLOCKED;
    if (q->reserved == e) {
        q->reserved = NULL;
    }
}

static void block_anew(struct queue *q, struct queue_entry *e, uint64_t now_ns)
{
    queue_unblock(q, e);
    queue_block(q, e, now_ns);
}

/* --- who may be next --- */

static bool may_run_more(const struct queue_tenant *t)
{
    return t->waiting > 0 && t->running < t->quota.concurrent;
}

static bool is_late(const struct queue *q, const struct queue_entry *e, uint64_t now_ns)
{
    return e->job.deadline_ns != 0 && queue_late_at(q, e) <= now_ns;
}

/* The tenant's next job, or NULL if all of them must wait or are too late. */
static struct queue_entry *ready(const struct queue *q, const struct queue_tenant *t,
                                 uint64_t now_ns)
{
    for (size_t i = QUEUE_PRIORITIES; i > 0; i--) {
        for (struct queue_entry *e = t->lines[i - 1].first; e != NULL; e = e->next) {
            if (e->not_before_ns <= now_ns && !is_late(q, e, now_ns)) {
                return e;
            }
        }
    }
    return NULL;
}

/* The order between tenants; between equals who has been quiet for longest, so that it is total. */
static int compare_tenants(const void *a, const void *b, void *ctx)
{
    const struct queue_tenant *one = *(struct queue_tenant *const *)a;
    const struct queue_tenant *two = *(struct queue_tenant *const *)b;

    (void)ctx;
    if (one->share != two->share) {
        return one->share < two->share ? -1 : 1;
    }
    if (one->used != two->used) {
        return one->used < two->used ? -1 : 1;
    }
    if (one->last_active != two->last_active) {
        return one->last_active < two->last_active ? -1 : 1;
    }
    return 0;
}

static size_t order_tenants(struct queue *q)
{
    size_t n = 0;

    for (size_t i = 0; i < q->n_tenants; i++) {
        if (may_run_more(q->tenants[i])) {
            q->order[n] = q->tenants[i];
            n++;
        }
    }
    if (n > 1) {
        sort_array(q->order, n, sizeof(struct queue_tenant *), compare_tenants, NULL);
    }
    return n;
}

/* --- the reservation --- */

struct by_bound {
    const struct queue *q;
    uint64_t now_ns;
};

static int compare_bounds(const void *a, const void *b, void *ctx)
{
    const struct by_bound *by = ctx;
    const struct queue_entry *one = *(struct queue_entry *const *)a;
    const struct queue_entry *two = *(struct queue_entry *const *)b;
    uint64_t end_one = queue_bound_ns(by->q, one, by->now_ns);
    uint64_t end_two = queue_bound_ns(by->q, two, by->now_ns);

    if (end_one != end_two) {
        return end_one < end_two ? -1 : 1;
    }
    return one->seq < two->seq ? -1 : 1;
}

/* False: not even the end of all that runs would make enough room. */
static bool cast_shadow(struct queue *q, const struct queue_entry *e,
                        const struct capacity_need *room, uint64_t now_ns, struct shadow *ret)
{
    struct by_bound by = {.q = q, .now_ns = now_ns};
    struct capacity_need sum = *room;
    uint64_t start = now_ns;
    size_t n = 0;

    for (struct queue_entry *at = q->running.first; at != NULL; at = at->next) {
        q->slots[n] = at;
        n++;
    }
    if (n > 1) {
        sort_array(q->slots, n, sizeof(struct queue_entry *), compare_bounds, &by);
    }
    for (size_t i = 0; i < n && !capacity_fits(&sum, &e->job.need, NULL); i++) {
        capacity_add(&sum, &q->slots[i]->job.need);
        start = queue_bound_ns(q, q->slots[i], now_ns);
    }
    if (!capacity_fits(&sum, &e->job.need, NULL)) {
        return false;
    }
    capacity_sub(&sum, &e->job.need);
    ret->start_ns = e->not_before_ns > start ? e->not_before_ns : start;
    ret->extra = sum;
    return true;
}

/* Ends what does not come true, begins a new one if it is time. True: *ret holds for others. */
static bool reserve(struct queue *q, const struct capacity_need *room, uint64_t now_ns,
                    struct shadow *ret)
{
    struct queue_entry *e = q->reserved;

    if (e != NULL && (now_ns >= q->reserved_until_ns || is_late(q, e, now_ns))) {
        block_anew(q, e, now_ns);
        e = NULL;
    }
    if (e != NULL) {
        /* While its tenant may not start it anyway, nobody has to wait for it. */
        return may_run_more(e->tenant) && cast_shadow(q, e, room, now_ns, ret);
    }
    e = q->blocked.first;
    if (e == NULL || now_ns - e->blocked_ns < q->config.reserve_after_ns) {
        return false;
    }
    if (is_late(q, e, now_ns) || !may_run_more(e->tenant) ||
        !cast_shadow(q, e, room, now_ns, ret)) {
        block_anew(q, e, now_ns);
        return false;
    }
    q->reserved = e;
    q->reserved_until_ns = queue_add_ns(ret->start_ns, RESERVE_GRACE_NS);
    return true;
}

static bool in_the_shadow(const struct queue *q, const struct queue_entry *e,
                          const struct shadow *shadow, uint64_t now_ns)
{
    uint64_t end = queue_add_ns(now_ns, queue_add_ns(e->job.wall_ns, q->config.overhead_ns));

    return end <= shadow->start_ns || capacity_fits(&shadow->extra, &e->job.need, NULL);
}

/* --- the next one --- */

/* Those before the n-th were looked at and did not fit: it goes ahead of them. */
static void block_overtaken(struct queue *q, size_t n, const struct capacity_need *room,
                            uint64_t now_ns)
{
    for (size_t i = 0; i < n; i++) {
        struct queue_entry *e = ready(q, q->order[i], now_ns);

        if (e != NULL && !capacity_fits(room, &e->job.need, NULL)) {
            queue_block(q, e, now_ns);
        }
    }
}

static struct queue_entry *choose(struct queue *q, const struct capacity_need *room,
                                  uint64_t now_ns)
{
    struct shadow shadow = {0};
    bool kept = reserve(q, room, now_ns, &shadow);
    struct queue_entry *e = kept ? q->reserved : NULL;
    size_t n = 0;

    if (e != NULL && e->not_before_ns <= now_ns && capacity_fits(room, &e->job.need, NULL)) {
        return e;
    }
    n = order_tenants(q);
    for (size_t i = 0; i < n; i++) {
        e = ready(q, q->order[i], now_ns);
        if (e != NULL && capacity_fits(room, &e->job.need, NULL) &&
            (!kept || in_the_shadow(q, e, &shadow, now_ns))) {
            block_overtaken(q, i, room, now_ns);
            return e;
        }
    }
    return NULL;
}

int queue_take(struct queue *q, const struct capacity_need *room, uint64_t now_ns,
               struct queue_job *ret, struct err *err)
{
    struct queue_entry *e = queue_heap_first(q, QUEUE_BY_WAIT);

    (void)err; /* a remote one has use for it */
    while (e != NULL && e->not_before_ns <= now_ns) {
        queue_heap_remove(q, QUEUE_BY_WAIT, e);
        e = queue_heap_first(q, QUEUE_BY_WAIT);
    }
    /* What is missing of the total is in use by others; the estimates go by that. */
    q->elsewhere = q->total;
    capacity_sub(&q->elsewhere, &q->taken);
    capacity_sub(&q->elsewhere, room);
    if (q->n_waiting == 0) {
        return 0;
    }
    e = choose(q, room, now_ns);
    if (e == NULL) {
        return 0;
    }
    queue_give_slot(q, e, now_ns);
    *ret = e->job;
    return 1;
}
