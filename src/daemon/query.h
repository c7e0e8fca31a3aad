/*
 * query.h - percent-encoding and the parameters of a request's target: strict, decoded once.
 */
#pragma once

#include "base/base.h"

#include "daemon/problem.h"

#define QUERY_MAX       8u
#define QUERY_VALUE_MAX 128u

struct query {
    struct {
        const char *name; /* of the allowed names */
        char value[QUERY_VALUE_MAX + 1];
    } items[QUERY_MAX];

    size_t n;
};

/* text: behind the '?'. allowed ends in NULL. Unknown, doubled and empty names are refused. */
must_use int query_parse(const char *text, const char *const *allowed, struct query *ret,
                         struct refusal *ret_refusal) nonnull_all;
/* NULL if it is not given. */
const char *query_get(const struct query *q, const char *name) nonnull_all;
/* *ret stays as it is if name is not given. */
must_use int query_u64(const struct query *q, const char *name, uint64_t min, uint64_t max,
                       uint64_t *ret, struct refusal *ret_refusal) nonnull_all;

/*
 * Decodes len characters into out, NUL-terminated. 0, -EINVAL (a '%' without two hex digits, or a NUL
 * comes out) or -ENOBUFS.
 */
must_use int percent_decode(const char *text, size_t len, char *out, size_t size) nonnull_all;
