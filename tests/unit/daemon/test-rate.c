#include <stdio.h>

#include "daemon/rate.h"
#include "test.h"

#define S NS_PER_S

static void a_burst_passes_and_then_the_rate_holds(void **state)
{
    struct rate rate = {0};
    uint64_t wait = 0;
    unsigned int passed = 0;

    for (unsigned int i = 0; i < 20; i++) {
        passed += rate_take(&rate, 60, 5, 100 * S, &wait) ? 1 : 0;
    }
    assert_int_equal(passed, 5);
    assert_int_equal(wait, S);
    assert_false(rate_take(&rate, 60, 5, 101 * S - 1, &wait));
    assert_int_equal(wait, 1);
    assert_true(rate_take(&rate, 60, 5, 101 * S, &wait));
    assert_false(rate_take(&rate, 60, 5, 101 * S, &wait));
}

static void over_time_exactly_the_rate_passes(void **state)
{
    struct rate rate = {0};
    uint64_t wait = 0;
    unsigned int passed = 0;

    for (uint64_t now = S; now < 601 * S; now += S / 100) {
        passed += rate_take(&rate, 7, 3, now, &wait) ? 1 : 0;
    }
    assert_in_range(passed, 70 + 2, 70 + 3);
}

static void quiet_time_saves_up_no_more_than_the_burst(void **state)
{
    struct rate rate = {0};
    uint64_t wait = 0;
    unsigned int passed = 0;

    assert_true(rate_take(&rate, 600, 4, S, &wait));
    for (unsigned int i = 0; i < 20; i++) {
        passed += rate_take(&rate, 600, 4, 1000000 * S, &wait) ? 1 : 0;
    }
    assert_int_equal(passed, 4);
}

static void what_is_given_back_can_be_taken_again(void **state)
{
    struct rate rate = {0};
    uint64_t wait = 0;

    rate_give_back(&rate, 60);
    assert_true(rate_take(&rate, 60, 1, S, &wait));
    assert_false(rate_take(&rate, 60, 1, S, &wait));
    rate_give_back(&rate, 60);
    assert_true(rate_take(&rate, 60, 1, S, &wait));
    assert_false(rate_take(&rate, 60, 1, S, &wait));
}

static void no_rate_is_no_limit_and_extremes_do_not_overflow(void **state)
{
    struct rate rate = {0};
    uint64_t wait = 0;

    for (unsigned int i = 0; i < 1000; i++) {
        assert_true(rate_take(&rate, 0, 0, S, &wait));
    }
    assert_true(rate_take(&rate, UINT64_MAX, UINT64_MAX, S, &wait));
    assert_true(rate_take(&rate, 1, UINT64_MAX, S, &wait));
    assert_true(rate_take(&rate, 1, 0, 1000 * S, &wait));
    assert_false(rate_take(&rate, 1, 0, 1000 * S, &wait));
    assert_int_equal(wait, 60 * S);
}

static void each_tenant_has_a_bucket_and_full_ones_are_forgotten(void **state)
{
    auto_rates struct rates *rates = NULL;
    struct err err = ERR_INIT;
    uint64_t wait = 0;
    char name[JOB_TENANT_SIZE];

    assert_ok(rates_new(&rates, &err), &err);
    for (unsigned int round = 0; round < 3; round++) { /* far more than the table holds */
        for (unsigned int i = 0; i < RATE_TENANTS_MAX; i++) {
            struct rate *rate = NULL;

            (void)snprintf(name, sizeof(name), "tenant-%u-%u", round, i);
            rate = rates_of(rates, name, (1 + 120 * round) * S);
            assert_non_null(rate);
            assert_true(rate_take(rate, 60, 1, (1 + 120 * round) * S, &wait));
        }
        assert_null(rates_of(rates, "one-more", (1 + 120 * round) * S));
        assert_non_null(rates_of(rates, name, (1 + 120 * round) * S));
        assert_false(rate_take(rates_of(rates, name, (1 + 120 * round) * S), 60, 1,
                               (1 + 120 * round) * S, &wait));
    }
}

TEST_MAIN(T(a_burst_passes_and_then_the_rate_holds), T(over_time_exactly_the_rate_passes),
          T(quiet_time_saves_up_no_more_than_the_burst), T(what_is_given_back_can_be_taken_again),
          T(no_rate_is_no_limit_and_extremes_do_not_overflow),
          T(each_tenant_has_a_bucket_and_full_ones_are_forgotten))
