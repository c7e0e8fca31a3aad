#include <errno.h>
#include <string.h>

#include "daemon/route.h"
#include "test.h"

#define ID "0123456789abcdef0123456789abcdef"

/* 0, or the status of the refusal. */
static unsigned int find(const char *method, const char *path, struct route_match *m, char *allow)
{
    struct refusal refusal = {0};

    memset(m, 0, sizeof(*m));
    return route_find(method, path, strlen(path), m, allow, &refusal) < 0 ? refusal.status : 0;
}

static void every_route_finds_itself(void **state)
{
    struct route_match m;
    char allow[64];

    for (size_t i = 0; i < routes_len; i++) {
        char path[200] = "";
        const char *p = routes[i].path;

        for (size_t n = 0; *p != '\0'; n = strlen(path)) {
            if (strncmp(p, "{id}", 4) == 0) {
                memcpy(path + n, ID, sizeof(ID));
                p += 4;
            } else if (strncmp(p, "{name}", 6) == 0) {
                memcpy(path + n, "a/b", 4);
                p += 6;
            } else {
                path[n] = *p++;
            }
        }
        assert_int_equal(find(routes[i].method, path, &m, allow), 0);
        assert_ptr_equal(m.route, &routes[i]);
    }
}

static void an_id_is_nothing_else(void **state)
{
    static const char *const bad[] = {
        "..",     "%2e%2e", ID "0", "0123456789ABCDEF0123456789ABCDEF", "*", "%00",
        ID "%00", "",       ID "/",
    };
    struct route_match m;
    char allow[64];

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char path[100] = "/v1/jobs/";

        memcpy(path + 9, bad[i], strlen(bad[i]) + 1);
        assert_int_equal(find("GET", path, &m, allow), 404);
        assert_string_equal(m.id, "");
    }
    assert_int_equal(find("GET",
                          "/v1/jobs/%301234567"
                          "89abcdef0123456789abcdef",
                          &m, allow),
                     0);
    assert_string_equal(m.id, ID);
}

static void a_name_is_decoded_once_and_stays_below(void **state)
{
    struct route_match m;
    char allow[64];

    assert_int_equal(find("GET", "/v1/jobs/" ID "/outputs/a%20b/c%2fd%25%0a", &m, allow), 0);
    assert_string_equal(m.name, "a b/c/d%\n");
    assert_int_equal(find("GET", "/v1/jobs/" ID "/outputs/%252e%252e/x", &m, allow), 0);
    assert_string_equal(m.name, "%2e%2e/x");
    assert_int_equal(find("GET", "/v1/jobs/" ID "/outputs/../x", &m, allow), 404);
    assert_int_equal(find("GET", "/v1/jobs/" ID "/outputs/%2e%2e/x", &m, allow), 404);
    assert_int_equal(find("GET", "/v1/jobs/" ID "/outputs/a//b", &m, allow), 404);
    assert_int_equal(find("GET", "/v1/jobs/" ID "/outputs/", &m, allow), 404);
    assert_int_equal(find("GET", "/v1/jobs/" ID "/outputs/a%00", &m, allow), 404);
    assert_int_equal(find("GET", "/v1/jobs/" ID "/outputs/a%4", &m, allow), 404);
}

static void a_wrong_method_is_told_the_right_ones(void **state)
{
    struct route_match m;
    char allow[64];

    assert_int_equal(find("PUT", "/v1/jobs", &m, allow), 405);
    assert_string_equal(allow, "POST, GET, HEAD");
    assert_int_equal(find("get", "/v1/jobs", &m, allow), 405);
    assert_int_equal(find("HEAD", "/v1/jobs", &m, allow), 0);
    assert_int_equal(find("HEAD", "/v1/jobs/" ID "/data", &m, allow), 405);
    assert_string_equal(allow, "DELETE");
    assert_int_equal(find("GET", "/v1", &m, allow), 404);
    assert_string_equal(allow, "");
}

static void paths_are_exact(void **state)
{
    static const char *const bad[] = {
        "/",         "",        "/v1/jobs/", "/v1//jobs",      "//v1/jobs", "/V1/jobs",
        "/v1/jobsx", "/v1/job", "/healthz/", "/v1/../healthz", "/v1%2fjobs"};
    struct route_match m;
    char allow[64];

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(find("GET", bad[i], &m, allow), 404);
    }
}

static const char *const allowed[] = {"limit", "after", NULL};

static unsigned int query(const char *text, struct query *q)
{
    struct refusal refusal = {0};

    return query_parse(text, allowed, q, &refusal) < 0 ? refusal.status : 0;
}

static void parameters_are_known_single_and_decoded_once(void **state)
{
    static const char *const bad[] = {"x=1",      "limit=1&limit=1", "limit",   "=1",
                                      "limit=1&", "&limit=1",        "limit=%", "limit=%0",
                                      "Limit=1",  "limit=%00"};
    struct query q;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(query(bad[i], &q), 400);
    }
    assert_int_equal(query("", &q), 0);
    assert_null(query_get(&q, "limit"));
    assert_int_equal(query("limit=%2541&after=", &q), 0);
    assert_string_equal(query_get(&q, "limit"), "%41");
    assert_string_equal(query_get(&q, "after"), "");
}

static void numbers_of_parameters_have_bounds(void **state)
{
    static const char *const bad[] = {
        "limit=0",   "limit=11", "limit=-1",  "limit=+1",
        "limit=1.0", "limit=",   "limit=0x1", "limit=99999999999999999999"};
    struct refusal refusal = {0};
    struct query q;
    uint64_t v = 7;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(query(bad[i], &q), 0);
        assert_int_equal(query_u64(&q, "limit", 1, 10, &v, &refusal), -EINVAL);
        assert_string_equal(refusal.field, "limit");
        assert_int_equal(v, 7);
    }
    assert_int_equal(query_u64(&q, "after", 1, 10, &v, &refusal), 0);
    assert_int_equal(v, 7);
    assert_int_equal(query("limit=10", &q), 0);
    assert_int_equal(query_u64(&q, "limit", 1, 10, &v, &refusal), 0);
    assert_int_equal(v, 10);
}

TEST_MAIN(T(every_route_finds_itself), T(an_id_is_nothing_else),
          T(a_name_is_decoded_once_and_stays_below), T(a_wrong_method_is_told_the_right_ones),
          T(paths_are_exact), T(parameters_are_known_single_and_decoded_once),
          T(numbers_of_parameters_have_bounds))
