/*
 * prefix.h - one of many by the beginning of its name, as people type it: templates, records. Names
 * are lower-case hex digits.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

/* How messages speak of them. */
struct prefix_kind {
    const char *thing;   /* "template" */
    const char *article; /* "a" */
    const char *name;    /* "key" */
    const char *list;    /* the command that lists them */
    size_t digits;       /* of a whole name */
};

struct prefix {
    const struct prefix_kind *kind;
    const char *text;
    const char *found; /* borrowed from prefix_offer(); NULL: none yet */
    bool many;
};

/* ERR_USAGE if text can be no beginning of a name. text and kind are borrowed. */
must_use int prefix_begin(struct prefix *p, const struct prefix_kind *kind, const char *text,
                          struct err *err) nonnull_all;
void prefix_offer(struct prefix *p, const char *name) nonnull_all;
/* 0 if exactly one fits: found. ERR_USAGE/-EEXIST: several; -ENOENT: none. */
must_use int prefix_end(const struct prefix *p, struct err *err) nonnull_all;
