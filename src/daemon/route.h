/*
 * route.h - the one table of what the API answers: method, path, handler.
 *
 * A path's segments are split before they are decoded, each is decoded once; {id} takes what
 * job_id_ok() takes and nothing else.
 */
#pragma once

#include "base/base.h"

#include "daemon/call.h"
#include "daemon/problem.h"

struct route {
    const char *method; /* GET takes HEAD too */
    const char *path;   /* "/v1/jobs/{id}", "/v1/jobs/{id}/outputs/{name}"; {name} takes the rest */
    call_handler *handle;
    const char *const *query; /* names of parameters; ends in NULL */
    unsigned int flags;
};

#define ROUTE_OPEN     1u /* no token needed */
#define ROUTE_ANY_HOST 2u /* says nothing that a page of another site may not know */
#define ROUTE_BODY     4u /* takes one */

extern const struct route routes[];
extern const size_t routes_len;

/*
 * path: as it came, without the query. 0, or -EINVAL with *ret_refusal (404, or 405 and then ret_allow
 * is the Allow header's value, else "").
 */
must_use int route_find(const char *method, const char *path, size_t len, struct route_match *ret,
                        char ret_allow[64], struct refusal *ret_refusal) nonnull_all;
