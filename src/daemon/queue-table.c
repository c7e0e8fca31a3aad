#include <errno.h>
#include <string.h>

#include "daemon/queue-internal.h"

#define BUCKETS_MIN 64u
#define HASH_BASIS  14695981039346656037ull /* FNV-1a */
#define HASH_PRIME  1099511628211ull

/* Ids are ours and random (unique_id()): nobody can aim at one bucket. */
static size_t bucket_of(const struct queue *q, const char *id)
{
    uint64_t hash = HASH_BASIS;

    for (const char *at = id; *at != '\0'; at++) {
        hash = (hash ^ (uint8_t)*at) * HASH_PRIME;
    }
    return (size_t)hash & (q->n_buckets - 1);
}

struct queue_entry *queue_find(const struct queue *q, const char *id)
{
    struct queue_entry *e = q->n_buckets > 0 ? q->buckets[bucket_of(q, id)] : NULL;

    while (e != NULL && strcmp(e->job.id, id) != 0) {
        e = e->same_hash;
    }
    return e;
}

static int grow_buckets(struct queue *q)
{
    struct queue_entry **old = q->buckets;
    size_t n_old = q->n_buckets;
    size_t n = n_old == 0 ? BUCKETS_MIN : 2 * n_old;
    struct queue_entry **buckets = calloc(n, sizeof(struct queue_entry *));

    if (buckets == NULL) {
        return -ENOMEM;
    }
    q->buckets = buckets;
    q->n_buckets = n;
    for (size_t i = 0; i < n_old; i++) {
        struct queue_entry *next = NULL;

        for (struct queue_entry *e = old[i]; e != NULL; e = next) {
            struct queue_entry **at = &buckets[bucket_of(q, e->job.id)];

            next = e->same_hash;
            e->same_hash = *at;
            *at = e;
        }
    }
    free(old);
    return 0;
}

static int grow_entries(struct queue_entry ***v, size_t *cap, size_t n)
{
    size_t more = *cap == 0 ? BUCKETS_MIN : 2 * *cap;
    struct queue_entry **grown = NULL;

    if (n <= *cap) {
        return 0;
    }
    grown = reallocarray(*v, more, sizeof(struct queue_entry *));
    if (grown == NULL) {
        return -ENOMEM;
    }
    *v = grown;
    *cap = more;
    return 0;
}

int queue_insert(struct queue *q, struct queue_entry *e)
{
    size_t n = q->n_entries + 1;
    struct queue_entry **at = NULL;
    int r = n > q->n_buckets ? grow_buckets(q) : 0;

    if (r == 0) {
        r = grow_entries(&q->slots, &q->cap_slots, n);
    }
    for (size_t i = 0; i < QUEUE_HEAPS && r == 0; i++) {
        r = grow_entries(&q->heaps[i].v, &q->heaps[i].cap, n);
        e->heap_at[i] = SIZE_MAX;
    }
    if (r < 0) {
        return r;
    }
    at = &q->buckets[bucket_of(q, e->job.id)];
    e->same_hash = *at;
    *at = e;
    q->n_entries = n;
    return 0;
}

void queue_forget(struct queue *q, struct queue_entry *e)
{
    struct queue_entry **at = &q->buckets[bucket_of(q, e->job.id)];

    while (*at != e) {
        at = &(*at)->same_hash;
    }
    *at = e->same_hash;
    q->n_entries--;
    free(e);
}

/* --- tenants --- */

struct queue_tenant *queue_tenant_find(const struct queue *q, const char *name)
{
    for (size_t i = 0; i < q->n_tenants; i++) {
        if (strcmp(q->tenants[i]->name, name) == 0) {
            return q->tenants[i];
        }
    }
    return NULL;
}

/* Forgets who has been idle for the longest time; false if nobody is. */
static bool forget_idle(struct queue *q)
{
    size_t which = SIZE_MAX;

    for (size_t i = 0; i < q->n_tenants; i++) {
        const struct queue_tenant *t = q->tenants[i];

        if (t->waiting == 0 && t->running == 0 &&
            (which == SIZE_MAX || t->last_active < q->tenants[which]->last_active)) {
            which = i;
        }
    }
    if (which == SIZE_MAX) {
        return false;
    }
    free(q->tenants[which]);
    q->n_tenants--;
    q->tenants[which] = q->tenants[q->n_tenants];
    return true;
}

static int grow_tenants(struct queue *q)
{
    size_t cap = q->cap_tenants == 0 ? 16 : 2 * q->cap_tenants;
    struct queue_tenant **grown = NULL;

    if (q->n_tenants < q->cap_tenants) {
        return 0;
    }
    grown = reallocarray(q->order, cap, sizeof(struct queue_tenant *));
    if (grown == NULL) {
        return -ENOMEM;
    }
    q->order = grown;
    grown = reallocarray(q->tenants, cap, sizeof(struct queue_tenant *));
    if (grown == NULL) {
        return -ENOMEM;
    }
    q->tenants = grown;
    q->cap_tenants = cap;
    return 0;
}

int queue_tenant_get(struct queue *q, const char *name, struct queue_tenant **ret)
{
    struct queue_tenant *t = queue_tenant_find(q, name);
    int r = 0;

    if (t != NULL) {
        *ret = t;
        return 0;
    }
    if (q->n_tenants >= q->config.tenants_max && !forget_idle(q)) {
        return -ENOSPC;
    }
    r = grow_tenants(q);
    if (r < 0) {
        return r;
    }
    t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return -ENOMEM;
    }
    memcpy(t->name, name, strlen(name) + 1);
    q->tenants[q->n_tenants] = t;
    q->n_tenants++;
    *ret = t;
    return 0;
}

/* --- heaps: the least time first --- */

uint64_t queue_late_at(const struct queue *q, const struct queue_entry *e)
{
    uint64_t lead = q->config.lead_ns;

    if (queue_add_ns(e->not_before_ns, lead) > e->job.deadline_ns) {
        return 0;
    }
    return e->job.deadline_ns - lead + 1;
}

static uint64_t key(const struct queue *q, enum queue_heap_kind kind, const struct queue_entry *e)
{
    return kind == QUEUE_BY_LATENESS ? queue_late_at(q, e) : e->not_before_ns;
}

static void put_at(struct queue *q, enum queue_heap_kind kind, size_t i, struct queue_entry *e)
{
    q->heaps[kind].v[i] = e;
    e->heap_at[kind] = i;
}

static void sift_up(struct queue *q, enum queue_heap_kind kind, size_t i)
{
    struct queue_entry **v = q->heaps[kind].v;
    struct queue_entry *e = v[i];

    while (i > 0 && key(q, kind, e) < key(q, kind, v[(i - 1) / 2])) {
        put_at(q, kind, i, v[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put_at(q, kind, i, e);
}

static void sift_down(struct queue *q, enum queue_heap_kind kind, size_t i)
{
    struct queue_entry **v = q->heaps[kind].v;
    size_t n = q->heaps[kind].n;
    struct queue_entry *e = v[i];

    while (2 * i + 1 < n) {
        size_t child = 2 * i + 1;

        if (child + 1 < n && key(q, kind, v[child + 1]) < key(q, kind, v[child])) {
            child++;
        }
        if (key(q, kind, e) <= key(q, kind, v[child])) {
            break;
        }
        put_at(q, kind, i, v[child]);
        i = child;
    }
    put_at(q, kind, i, e);
}

void queue_heap_add(struct queue *q, enum queue_heap_kind kind, struct queue_entry *e)
{
    struct queue_heap *h = &q->heaps[kind];

    put_at(q, kind, h->n, e);
    h->n++;
    sift_up(q, kind, h->n - 1);
}

void queue_heap_remove(struct queue *q, enum queue_heap_kind kind, struct queue_entry *e)
{
    struct queue_heap *h = &q->heaps[kind];
    size_t i = e->heap_at[kind];

    if (i == SIZE_MAX) {
        return;
    }
    e->heap_at[kind] = SIZE_MAX;
    h->n--;
    if (i < h->n) {
        struct queue_entry *last = h->v[h->n];

        put_at(q, kind, i, last);
        sift_up(q, kind, i);
        sift_down(q, kind, last->heap_at[kind]);
    }
}

struct queue_entry *queue_heap_first(const struct queue *q, enum queue_heap_kind kind)
{
    return q->heaps[kind].n > 0 ? q->heaps[kind].v[0] : NULL;
}
