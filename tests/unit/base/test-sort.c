#include <string.h>

#include "base/sort.h"

#include "test.h"

static int by_value(const void *a, const void *b, void *ctx)
{
    uint32_t x = 0;
    uint32_t y = 0;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    ++*(size_t *)ctx;
    return (x > y) - (x < y);
}

/* Elements are 12 bytes: the value, and twice the value behind it, which must move along. */
static void fill(uint8_t *at, size_t n, int order)
{
    for (size_t i = 0; i < n; i++, at += 12) {
        uint32_t v = order == 0   ? (uint32_t)i
                     : order == 1 ? (uint32_t)(n - i)
                     : order == 2 ? (uint32_t)(i * 2654435761u >> 7) % 97
                                  : 7;
        uint32_t all[3] = {v, 2 * v, 3 * v};

        memcpy(at, all, sizeof(all));
    }
}

static void any_order_of_any_length_is_sorted_in_bounded_steps(void **state)
{
    static const size_t lengths[] = {0, 1, 2, 3, 4, 7, 8, 100, 4096};
    static uint8_t data[4096 * 12];

    (void)state;
    for (size_t l = 0; l < ARRAY_LEN(lengths); l++) {
        for (int order = 0; order < 4; order++) {
            size_t steps = 0;
            uint32_t last = 0;
            uint64_t want = 0;
            uint64_t sum = 0;

            fill(data, lengths[l], order);
            for (size_t i = 0; i < lengths[l]; i++) {
                uint32_t v = 0;

                memcpy(&v, data + 12 * i, sizeof(v));
                want += v;
            }
            sort_array(data, lengths[l], 12, by_value, &steps);
            for (size_t i = 0; i < lengths[l]; i++) {
                uint32_t all[3];

                memcpy(all, data + 12 * i, sizeof(all));
                assert_true(all[0] >= last);
                assert_int_equal(all[1], 2 * all[0]);
                assert_int_equal(all[2], 3 * all[0]);
                last = all[0];
                sum += all[0];
            }
            assert_true(sum == want);
            assert_true(steps <= 2 * 13 * lengths[l]); /* 2 n log2 n, n <= 4096 */
        }
    }
}

TEST_MAIN(T(any_order_of_any_length_is_sorted_in_bounded_steps))
