#include "guest/pressure.h"
#include "test.h"

#define LIMIT (256 * MIB)

static void two_stalls_in_a_row_of_a_full_job_count(void **state)
{
    struct pressure p = {.fd = -1, .limit_bytes = LIMIT};

    (void)state;
    assert_false(pressure_counts(&p, 1 * NS_PER_S, LIMIT - 4 * MIB));
    assert_true(pressure_counts(&p, 3 * NS_PER_S, LIMIT - 4 * MIB));
    /* It acted: the next one starts anew. */
    assert_false(pressure_counts(&p, 4 * NS_PER_S, LIMIT - 4 * MIB));
}

static void stalls_far_apart_do_not_count(void **state)
{
    struct pressure p = {.fd = -1, .limit_bytes = LIMIT};

    (void)state;
    assert_false(pressure_counts(&p, 1 * NS_PER_S, LIMIT));
    assert_false(pressure_counts(&p, 5 * NS_PER_S, LIMIT));
    assert_true(pressure_counts(&p, 8 * NS_PER_S, LIMIT));
}

static void a_job_with_room_is_left_alone(void **state)
{
    struct pressure p = {.fd = -1, .limit_bytes = LIMIT};

    (void)state;
    for (uint64_t t = 1; t < 100; t++) {
        /* 90 % of the limit held, the rest streaming through the page cache */
        assert_false(pressure_counts(&p, t * NS_PER_S, LIMIT / 10 * 9));
    }
}

static void a_small_limit_keeps_a_fifth_for_files(void **state)
{
    struct pressure p = {.fd = -1, .limit_bytes = 32 * MIB};

    (void)state;
    assert_false(pressure_counts(&p, 1 * NS_PER_S, 24 * MIB));
    assert_false(pressure_counts(&p, 2 * NS_PER_S, 26 * MIB));
    assert_true(pressure_counts(&p, 3 * NS_PER_S, 26 * MIB));
}

TEST_MAIN(T(two_stalls_in_a_row_of_a_full_job_count), T(stalls_far_apart_do_not_count),
          T(a_job_with_room_is_left_alone), T(a_small_limit_keeps_a_fifth_for_files))
