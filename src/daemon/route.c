#include "daemon/route.h"

#include <stdio.h>
#include <string.h>

#include "daemon/api.h"

static const char *const no_query[] = {NULL};
static const char *const submit_query[] = {"wait", NULL};
static const char *const list_query[] = {"state", "verdict", "limit", "after", NULL};
static const char *const get_query[] = {"wait", NULL};
static const char *const events_query[] = {"after", NULL};

const struct route routes[] = {
    {"POST", "/v1/jobs", api_submit, submit_query, ROUTE_BODY},
    {"GET", "/v1/jobs", api_list, list_query, 0},
    {"GET", "/v1/jobs/{id}", api_get, get_query, 0},
    {"DELETE", "/v1/jobs/{id}", api_cancel, no_query, 0},
    {"DELETE", "/v1/jobs/{id}/data", api_purge, no_query, 0},
    {"GET", "/v1/jobs/{id}/stdout", api_stdout, no_query, 0},
    {"GET", "/v1/jobs/{id}/stderr", api_stderr, no_query, 0},
    {"GET", "/v1/jobs/{id}/outputs/{name}", api_output, no_query, 0},
    {"GET", "/v1/jobs/{id}/record", api_record, no_query, 0},
    {"GET", "/v1/jobs/{id}/events", api_events, events_query, 0},
    {"GET", "/v1/images", api_images, no_query, 0},
    {"GET", "/v1/capacity", api_capacity, no_query, 0},
    {"GET", "/healthz", api_healthz, no_query, ROUTE_OPEN | ROUTE_ANY_HOST},
    {"GET", "/readyz", api_readyz, no_query, ROUTE_OPEN},
    {"GET", "/metrics", api_metrics, no_query, 0},
    {"GET", "/openapi.json", api_openapi, no_query, ROUTE_OPEN},
};
const size_t routes_len = ARRAY_LEN(routes);

/* The whole rest of the path, each segment decoded; none is empty, "." or "..". */
static bool match_name(const char *path, size_t len, char out[CALL_NAME_MAX])
{
    size_t n = 0;

    while (true) {
        const char *slash = memchr(path, '/', len);
        size_t part = slash != NULL ? (size_t)(slash - path) : len;
        char *at = out + n;

        if (part == 0 || percent_decode(path, part, at, CALL_NAME_MAX - n) < 0 ||
            strcmp(at, ".") == 0 || strcmp(at, "..") == 0) {
            return false;
        }
        n += strlen(at);
        if (slash == NULL) {
            return true;
        }
        if (n + 2 > CALL_NAME_MAX) {
            return false;
        }
        out[n++] = '/';
        path += part + 1;
        len -= part + 1;
    }
}

/* One segment of the pattern against one of the path. */
static bool match_segment(const char *pattern, size_t pattern_len, const char *path, size_t len,
                          struct route_match *ret)
{
    if (pattern_len == 4 && memcmp(pattern, "{id}", 4) == 0) {
        char id[JOB_ID_SIZE];

        if (percent_decode(path, len, id, sizeof(id)) < 0 || !job_id_ok(id)) {
            return false;
        }
        memcpy(ret->id, id, sizeof(id));
        return true;
    }
    return pattern_len == len && memcmp(pattern, path, len) == 0;
}

static bool match(const char *pattern, const char *path, size_t len, struct route_match *ret)
{
    const char *end = path + len;

    while (*pattern == '/' && path < end && *path == '/') {
        size_t pattern_len = 0;
        size_t part = 0;

        pattern++;
        path++;
        if (strcmp(pattern, "{name}") == 0) {
            return match_name(path, (size_t)(end - path), ret->name);
        }
        pattern_len = strcspn(pattern, "/");
        while (path + part < end && path[part] != '/') {
            part++;
        }
        if (!match_segment(pattern, pattern_len, path, part, ret)) {
            return false;
        }
        pattern += pattern_len;
        path += part;
    }
    return *pattern == '\0' && path == end;
}

static bool same_method(const char *method, const char *of_route)
{
    return strcmp(method, of_route) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(of_route, "GET") == 0);
}

int route_find(const char *method, const char *path, size_t len, struct route_match *ret,
               char ret_allow[64], struct refusal *ret_refusal)
{
    size_t n = 0;

    ret_allow[0] = '\0';
    for (size_t i = 0; i < routes_len; i++) {
        if (!match(routes[i].path, path, len, ret)) {
            continue;
        }
        ret->route = &routes[i];
        if (same_method(method, routes[i].method)) {
            return 0;
        }
        n += (size_t)snprintf(ret_allow + n, 64 - n, "%s%s%s", n > 0 ? ", " : "", routes[i].method,
                              strcmp(routes[i].method, "GET") == 0 ? ", HEAD" : "");
    }
    if (n > 0) {
        return problem_set(ret_refusal, PROBLEM_METHOD, "", "this path takes %s", ret_allow);
    }
    ret->id[0] = '\0';
    return problem_set(ret_refusal, PROBLEM_NOT_FOUND, "",
                       "there is nothing at this path; see /openapi.json");
}
