#include <string.h>

#include "daemon/queue-internal.h"

struct count {
    uint64_t waiting, running, bytes, late, held_back, blocked;
    struct capacity_need taken;
    bool sound;
};

static bool same(const struct capacity_need *a, const struct capacity_need *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static void count_line(const struct queue *q, const struct queue_tenant *t, unsigned int priority,
                       struct count *c)
{
    const struct queue_entry *prev = NULL;

    for (const struct queue_entry *e = t->lines[priority].first; e != NULL; e = e->next) {
        bool ordered = prev == NULL || prev->seq < e->seq;

        c->sound = c->sound && ordered && e->prev == prev && e->tenant == t && !e->has_slot &&
                   e->job.priority == priority && queue_find(q, e->job.id) == e &&
                   (e->job.deadline_ns != 0) == (e->heap_at[QUEUE_BY_LATENESS] != SIZE_MAX);
        c->waiting++;
        c->bytes += e->job.bytes;
        c->late += e->heap_at[QUEUE_BY_LATENESS] != SIZE_MAX ? 1 : 0;
        c->held_back += e->heap_at[QUEUE_BY_WAIT] != SIZE_MAX ? 1 : 0;
        c->blocked += e->blocked_ns != QUEUE_NOT_BLOCKED ? 1 : 0;
        prev = e;
    }
    c->sound = c->sound && t->lines[priority].last == prev;
}

static void count_slots(const struct queue *q, const struct queue_tenant *t, struct count *c)
{
    for (const struct queue_entry *e = q->running.first; e != NULL; e = e->next) {
        if (e->tenant == t) {
            c->sound = c->sound && e->has_slot && e->blocked_ns == QUEUE_NOT_BLOCKED &&
                       queue_find(q, e->job.id) == e;
            c->running++;
            capacity_add(&c->taken, &e->job.need);
        }
    }
}

static bool heap_sound(const struct queue *q, enum queue_heap_kind kind)
{
    const struct queue_heap *h = &q->heaps[kind];

    for (size_t i = 0; i < h->n; i++) {
        const struct queue_entry *e = h->v[i];
        const struct queue_entry *up = h->v[i == 0 ? 0 : (i - 1) / 2];
        bool ordered = kind == QUEUE_BY_LATENESS ? queue_late_at(q, up) <= queue_late_at(q, e)
                                                 : up->not_before_ns <= e->not_before_ns;

        if (!ordered || e->heap_at[kind] != i || e->has_slot) {
            return false;
        }
    }
    return true;
}

static uint64_t count_blocked(const struct queue *q)
{
    uint64_t n = 0;

    for (const struct queue_entry *e = q->blocked.first; e != NULL; e = e->blocked_next) {
        n++;
    }
    return n;
}

bool queue_check(const struct queue *q)
{
    struct count all = {.sound = true};

    for (size_t i = 0; i < q->n_tenants; i++) {
        const struct queue_tenant *t = q->tenants[i];
        struct count c = {.sound = true};

        for (unsigned int priority = 0; priority < QUEUE_PRIORITIES; priority++) {
            count_line(q, t, priority, &c);
        }
        count_slots(q, t, &c);
        all.sound = all.sound && c.sound && c.waiting == t->waiting && c.running == t->running &&
                    c.bytes == t->bytes && same(&c.taken, &t->taken) &&
                    t->share == queue_share(q, &t->taken);
        all.waiting += c.waiting;
        all.running += c.running;
        all.bytes += c.bytes;
        all.late += c.late;
        all.held_back += c.held_back;
        all.blocked += c.blocked;
        capacity_add(&all.taken, &c.taken);
    }
    return all.sound && all.waiting == q->n_waiting && all.running == q->n_running &&
           all.bytes == q->bytes && same(&all.taken, &q->taken) &&
           q->n_entries == q->n_waiting + q->n_running &&
           all.late == q->heaps[QUEUE_BY_LATENESS].n &&
           all.held_back == q->heaps[QUEUE_BY_WAIT].n && all.blocked == count_blocked(q) &&
           heap_sound(q, QUEUE_BY_LATENESS) && heap_sound(q, QUEUE_BY_WAIT) &&
           (q->reserved == NULL || q->reserved->blocked_ns != QUEUE_NOT_BLOCKED);
}
