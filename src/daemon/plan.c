#include "daemon/plan.h"

#include <errno.h>
#include <string.h>

#define PLAN_NONE 0xff

void plan_init(struct plan *p)
{
    *p = (struct plan){.n_kinds = 0};
    memset(p->jobs, PLAN_NONE, sizeof(p->jobs));
}

void plan_fini(struct plan *p)
{
    for (size_t i = 0; i < p->n_kinds; i++) {
        spec_fini(&p->kinds[i]);
    }
    plan_init(p);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_kind(const struct spec *a, const struct spec *b)
{
    return a->language == b->language && a->engine == b->engine && a->isolation == b->isolation &&
           a->root == b->root && a->cold_interpreter == b->cold_interpreter &&
           a->limits.memory_bytes == b->limits.memory_bytes && a->limits.vcpus == b->limits.vcpus &&
           a->limits.disk_bytes == b->limits.disk_bytes && a->limits.inodes == b->limits.inodes &&
           same_text(a->image, b->image) && same_text(a->program_name, b->program_name);
}

/* What class_of() looks at. */
static int copy_kind(const struct spec *from, struct spec *ret)
{
    spec_init(ret);
    ret->language = from->language;
    ret->engine = from->engine;
    ret->isolation = from->isolation;
    ret->root = from->root;
    ret->cold_interpreter = from->cold_interpreter;
    ret->limits = from->limits;
    ret->image = from->image != NULL ? strdup(from->image) : NULL;
    ret->program_name = from->program_name != NULL ? strdup(from->program_name) : NULL;
    if ((from->image != NULL) != (ret->image != NULL) ||
        (from->program_name != NULL) != (ret->program_name != NULL)) {
        spec_fini(ret);
        return -ENOMEM;
    }
    return 0;
}

static size_t count(const struct plan *p, size_t kind)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_jobs; i++) {
        n += p->jobs[i] == kind;
    }
    return n;
}

/* The place of a kind that no remembered job has any more, or a new one; PLAN_KINDS: none. */
static size_t free_place(struct plan *p)
{
    for (size_t i = 0; i < p->n_kinds; i++) {
        if (count(p, i) == 0) {
            spec_fini(&p->kinds[i]);
            return i;
        }
    }
    return p->n_kinds < PLAN_KINDS ? p->n_kinds++ : PLAN_KINDS;
}

void plan_note(struct plan *p, const struct spec *spec)
{
    size_t kind = 0;
    struct spec made;

    while (kind < p->n_kinds && !same_kind(&p->kinds[kind], spec)) {
        kind++;
    }
    if (kind == p->n_kinds) {
        if (copy_kind(spec, &made) < 0) {
            return;
        }
        kind = free_place(p);
        if (kind == PLAN_KINDS) {
            spec_fini(&made);
            return;
        }
        p->kinds[kind] = made;
    }
    p->changed = p->changed || p->jobs[p->next] != kind;
    p->jobs[p->next] = (unsigned char)kind;
    p->next = (p->next + 1) % PLAN_JOBS;
    p->n_jobs += p->n_jobs < PLAN_JOBS;
}

size_t plan_choose(struct plan *p, const struct spec **ret, size_t max)
{
    size_t given[PLAN_KINDS] = {0};
    size_t n = 0;

    p->changed = false;
    while (n < max && p->n_jobs > 0) { /* each goes to who has least for what it wants: d'Hondt */
        size_t best = PLAN_KINDS;
        size_t best_count = 0;

        for (size_t i = 0; i < p->n_kinds; i++) {
            size_t wanted = count(p, i);

            if (wanted > 0 &&
                (best == PLAN_KINDS || wanted * (given[best] + 1) > best_count * (given[i] + 1))) {
                best = i;
                best_count = wanted;
            }
        }
        if (best == PLAN_KINDS) {
            break;
        }
        given[best]++;
        ret[n++] = &p->kinds[best];
    }
    return n;
}
