/*
 * suite-limits.h - the limits of a header as options of `airlock run` on this engine.
 *
 * Headers are written for native speed, slow = 1. On an emulated engine, and on a host that is slow
 * itself, wall and CPU are multiplied by slow, but a clock that the case is meant to reach is not: it
 * only gets what an interpreter needs to start there on top, so that the program still has the time
 * it was given.
 * What is not in the header is the product's default, the clocks treated the same.
 */
#pragma once

#include <jansson.h>

#include "base/base.h"
#include "base/err.h"

#include "cli/suite-case.h"

#define SUITE_SLOW_EMULATED 5u /* slow of engine tcg */
#define SUITE_SLOW_MAX      50u
/* An interpreter's start where slow is SUITE_SLOW_EMULATED; in proportion elsewhere. */
#define SUITE_START_PYTHON_NS     (3 * NS_PER_S)
#define SUITE_START_JAVASCRIPT_NS (8 * NS_PER_S)
/* Node.js of Debian 12 has 7 threads at the program's first line. */
#define SUITE_PIDS_JAVASCRIPT 8u

/* A command line being made; every word is owned. */
#define SUITE_WORDS_MAX 512u

struct suite_words {
    char *list[SUITE_WORDS_MAX + 1]; /* NULL-terminated */
    size_t n;
};

void suite_words_fini(struct suite_words *words) nonnull_all;
#define auto_suite_words on_scope_exit(suite_words_fini)
/* ERR_USAGE if there is no room for one more. */
must_use int suite_word(struct suite_words *words, struct err *err, const char *fmt, ...)
    printf_like(3, 4) nonnull_all;

/*
 * Appends the options. A value that the product would refuse, or in which the interpreter could not
 * start, is moved to the nearest that works and told in changes (a JSON list), unless the case
 * expects `rejected`.
 */
must_use int suite_limit_words(const struct suite_case *c, unsigned int slow,
                               struct suite_words *words, json_t *changes,
                               struct err *err) nonnull_all;
/* The wall limit that suite_limit_words() gives. */
uint64_t suite_wall_ns(const struct suite_case *c, unsigned int slow) nonnull_all;
