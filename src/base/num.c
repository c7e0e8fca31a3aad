#include "base/num.h"

#include <errno.h>
#include <string.h>

/* Reads digits from *s, leaves *s behind the last one. At least one digit is needed. */
static int take_digits(const char **s, uint64_t *ret)
{
    const char *p = *s;
    uint64_t v = 0;

    if (*p < '0' || *p > '9') {
        return -EINVAL;
    }
    for (; *p >= '0' && *p <= '9'; p++) {
        if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v)) {
            return -ERANGE;
        }
    }
    *s = p;
    *ret = v;
    return 0;
}

int num_parse_u64(const char *s, uint64_t *ret)
{
    uint64_t v = 0;
    int r = take_digits(&s, &v);

    if (r < 0) {
        return r;
    }
    if (*s != '\0') {
        return -EINVAL;
    }
    *ret = v;
    return 0;
}

int num_parse_size(const char *s, uint64_t *ret_bytes)
{
    static const struct {
        const char *suffix;
        uint64_t factor;
    } units[] = {
        {"", 1},    {"B", 1},   {"K", KIB},   {"k", KIB},   {"M", MIB},   {"m", MIB},
        {"G", GIB}, {"g", GIB}, {"KiB", KIB}, {"MiB", MIB}, {"GiB", GIB},
    };

    uint64_t v = 0;
    int r = take_digits(&s, &v);

    if (r < 0) {
        return r;
    }
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (strcmp(s, units[i].suffix) != 0) {
            continue;
        }
        if (__builtin_mul_overflow(v, units[i].factor, &v)) {
            return -ERANGE;
        }
        *ret_bytes = v;
        return 0;
    }
    return -EINVAL;
}

/* Up to nine decimals as nanoseconds of one unit of a second. */
static int take_decimals(const char **s, uint64_t *ret_nanos)
{
    uint64_t v = 0;
    size_t n = 0;
    const char *p = *s;

    for (; *p >= '0' && *p <= '9'; p++, n++) {
        if (n == 9) {
            return -EINVAL;
        }
        v = v * 10 + (uint64_t)(*p - '0');
    }
    if (n == 0) {
        return -EINVAL;
    }
    for (; n < 9; n++) {
        v *= 10;
    }
    *s = p;
    *ret_nanos = v;
    return 0;
}

int num_parse_duration(const char *s, uint64_t *ret_ns)
{
    static const struct {
        const char *suffix;
        uint64_t ns;
    } units[] = {{"", NS_PER_S}, {"s", NS_PER_S}, {"ms", NS_PER_MS}, {"m", 60 * NS_PER_S}};

    uint64_t v = 0;
    uint64_t nanos = 0;
    bool decimals = false;
    int r = take_digits(&s, &v);

    if (r < 0) {
        return r;
    }
    if (*s == '.') {
        s++;
        r = take_decimals(&s, &nanos);
        if (r < 0) {
            return r;
        }
        decimals = true;
    }
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (strcmp(s, units[i].suffix) != 0) {
            continue;
        }
        if (decimals && units[i].ns != NS_PER_S) {
            return -EINVAL;
        }
        if (__builtin_mul_overflow(v, units[i].ns, &v) || __builtin_add_overflow(v, nanos, &v)) {
            return -ERANGE;
        }
        *ret_ns = v;
        return 0;
    }
    return -EINVAL;
}
