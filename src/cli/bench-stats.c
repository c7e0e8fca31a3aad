#include "cli/bench-stats.h"

#include "base/sort.h"

static int compare(const void *a, const void *b, void *ctx)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    (void)ctx;
    return x < y ? -1 : x > y;
}

struct bench_stat bench_stat(uint64_t *values, size_t n)
{
    struct bench_stat s = {.n = n};

    if (n == 0) {
        return s;
    }
    sort_array(values, n, sizeof(*values), compare, NULL);
    s.min = values[0];
    s.p95 = values[(n * 95 + 99) / 100 - 1];
    s.median = values[n / 2];
    if (n % 2 == 0) {
        s.median = values[n / 2 - 1] + (s.median - values[n / 2 - 1]) / 2;
    }
    return s;
}
