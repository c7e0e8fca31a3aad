/*
 * suite-load.h - all cases: those in the binary, or those of a folder; sorted, linked, selected.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "cli/suite-case.h"

struct suite_cases {
    struct suite_case *list; /* sorted by path */
    size_t n;
    bool pairs; /* each kind must be there in both languages, or say why not */
};

#define SUITE_CASES_INIT \
    {                    \
        .list = NULL     \
    }

void suite_cases_fini(struct suite_cases *cases) nonnull_all;
#define auto_suite_cases on_scope_exit(suite_cases_fini)

/* Tells each file that is no case; it is left out and counted. */
typedef void suite_bad_fn(void *ctx, const struct err *err);

/*
 * dir NULL: the programs in the binary. Else every *.py, *.js, *.mjs and *.cjs below dir, at most
 * SUITE_CASES_MAX; a link among them is refused. ERR_USAGE if dir can't be read, if there is no case, or
 * (after bad was told each) if a file is no case.
 */
must_use int suite_load(const char *dir, suite_bad_fn *bad, void *ctx, struct suite_cases *ret,
                        struct err *err) nonnull_args(2, 4, 5);

/* The same from the text that tools/suite-pack writes: "PATH LENGTH\n" and the bytes, repeated. */
must_use int suite_unpack(const char *packed, size_t len, suite_bad_fn *bad, void *ctx,
                          struct suite_cases *ret, struct err *err) nonnull_args(1, 3, 5, 6);

struct suite_choice {
    const char *filter; /* extended regular expression, on "FAMILY/KIND.py"; NULL = all */
    bool quick;         /* only those with "quick": true */
    bool python, javascript;
};

/* Sets selected, also on what a selected case must run after. ERR_USAGE on a bad expression. */
must_use int suite_select(struct suite_cases *cases, const struct suite_choice *choice,
                          struct err *err) nonnull_all;

/* The same kind in the other language, or NULL. */
const struct suite_case *suite_twin(const struct suite_cases *cases,
                                    const struct suite_case *c) nonnull_all;
/* What is wrong with the pair that c belongs to, or NULL. Fixed text. */
const char *suite_pair_fault(const struct suite_cases *cases,
                             const struct suite_case *c) nonnull_all;
/* The text of 'after' if it names no case and so is a remark for people; else NULL. */
const char *suite_remark(const struct suite_case *c) nonnull_all;
