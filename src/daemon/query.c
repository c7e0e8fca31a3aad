#include "daemon/query.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/num.h"

static int hex(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int percent_decode(const char *text, size_t len, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (n + 1 >= size) {
            return -ENOBUFS;
        }
        if (c == '%') {
            int high = len - i > 2 ? hex(text[i + 1]) : -1;
            int low = len - i > 2 ? hex(text[i + 2]) : -1;

            if (high < 0 || low < 0) {
                return -EINVAL;
            }
            c = (unsigned char)(high * 16 + low);
            i += 2;
        }
        if (c == '\0') {
            return -EINVAL;
        }
        out[n++] = (char)c;
    }
    out[n] = '\0';
    return 0;
}

static int take_pair(const char *text, size_t len, const char *const *allowed, struct query *ret,
                     struct refusal *refusal)
{
    const char *equals = memchr(text, '=', len);
    size_t name_len = equals != NULL ? (size_t)(equals - text) : len;
    const char *name = NULL;

    for (size_t i = 0; allowed[i] != NULL && name == NULL; i++) {
        if (strlen(allowed[i]) == name_len && memcmp(allowed[i], text, name_len) == 0) {
            name = allowed[i];
        }
    }
    if (name == NULL) {
        return problem_set(refusal, PROBLEM_BAD_PARAMETER, "",
                           "a query parameter is not known here; see /openapi.json");
    }
    if (query_get(ret, name) != NULL) {
        return problem_set(refusal, PROBLEM_BAD_PARAMETER, name, "%s is given twice", name);
    }
    if (equals == NULL || ret->n == QUERY_MAX ||
        percent_decode(equals + 1, len - name_len - 1, ret->items[ret->n].value,
                       sizeof(ret->items[ret->n].value)) < 0) {
        return problem_set(refusal, PROBLEM_BAD_PARAMETER, name,
                           "%s has no value that can be decoded, of at most %u characters", name,
                           QUERY_VALUE_MAX);
    }
    ret->items[ret->n++].name = name;
    return 0;
}

int query_parse(const char *text, const char *const *allowed, struct query *ret,
                struct refusal *ret_refusal)
{
    ret->n = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, "&");
        int r = take_pair(text, len, allowed, ret, ret_refusal);

        if (r < 0) {
            return r;
        }
        text += len;
        if (*text == '&') {
            text++;
            if (*text == '\0') {
                return problem_set(ret_refusal, PROBLEM_BAD_PARAMETER, "", "the query ends in '&'");
            }
        }
    }
    return 0;
}

const char *query_get(const struct query *q, const char *name)
{
    for (size_t i = 0; i < q->n; i++) {
        if (strcmp(q->items[i].name, name) == 0) {
            return q->items[i].value;
        }
    }
    return NULL;
}

int query_u64(const struct query *q, const char *name, uint64_t min, uint64_t max, uint64_t *ret,
              struct refusal *ret_refusal)
{
    const char *text = query_get(q, name);
    uint64_t v = 0;

    if (text == NULL) {
        return 0;
    }
    if (num_parse_u64(text, &v) < 0 || v < min || v > max) {
        return problem_set(ret_refusal, PROBLEM_BAD_PARAMETER, name,
                           "%s must be an integer from %" PRIu64 " to %" PRIu64, name, min, max);
    }
    *ret = v;
    return 0;
}
