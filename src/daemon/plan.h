/*
 * plan.h - which machines the pool shall hold: as many of each kind as were wanted lately.
 *
 * Remembers the kinds of the last jobs. Pure: it speaks to no pool.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "job/spec.h"

#define PLAN_KINDS 16u
#define PLAN_JOBS  64u /* remembered */

struct plan {
    struct spec kinds[PLAN_KINDS]; /* what makes a machine, of each; n_kinds are there */
    size_t n_kinds;
    unsigned char jobs[PLAN_JOBS]; /* their kinds, a ring */
    size_t n_jobs, next;
    bool changed; /* since plan_choose() */
};

void plan_init(struct plan *p) nonnull_all;
void plan_fini(struct plan *p) nonnull_all;

/* A job of this kind was accepted. What finds no memory or place is forgotten. */
void plan_note(struct plan *p, const struct spec *spec) nonnull_all;

/*
 * At most max machines in proportion, the most wanted kind first. Pointers are the plan's, until the next plan_note(). Returns how many.
 */
size_t plan_choose(struct plan *p, const struct spec **ret, size_t max) nonnull_all;
