#include <errno.h>

#include "base/num.h"

#include "test.h"

static void numbers_are_whole_strings_of_digits(void **state)
{
    uint64_t v = 7;

    (void)state;
    assert_int_equal(num_parse_u64("18446744073709551615", &v), 0);
    assert_true(v == UINT64_MAX);
    assert_int_equal(num_parse_u64("18446744073709551616", &v), -ERANGE);
    assert_int_equal(num_parse_u64("", &v), -EINVAL);
    assert_int_equal(num_parse_u64("-1", &v), -EINVAL);
    assert_int_equal(num_parse_u64(" 1", &v), -EINVAL);
    assert_int_equal(num_parse_u64("1 ", &v), -EINVAL);
    assert_int_equal(num_parse_u64("0x10", &v), -EINVAL);
    assert_int_equal(num_parse_u64("nan", &v), -EINVAL);
}

static void sizes_take_binary_suffixes(void **state)
{
    uint64_t v = 0;

    (void)state;
    assert_int_equal(num_parse_size("64M", &v), 0);
    assert_true(v == 64 * MIB);
    assert_int_equal(num_parse_size("2GiB", &v), 0);
    assert_true(v == 2 * GIB);
    assert_int_equal(num_parse_size("1", &v), 0);
    assert_true(v == 1);
    assert_int_equal(num_parse_size("64MB", &v), -EINVAL);
    assert_int_equal(num_parse_size("1.5M", &v), -EINVAL);
    assert_int_equal(num_parse_size("18446744073709551615K", &v), -ERANGE);
}

static void durations_are_seconds_unless_they_say_otherwise(void **state)
{
    uint64_t v = 0;

    (void)state;
    assert_int_equal(num_parse_duration("10s", &v), 0);
    assert_true(v == 10 * NS_PER_S);
    assert_int_equal(num_parse_duration("250ms", &v), 0);
    assert_true(v == 250 * NS_PER_MS);
    assert_int_equal(num_parse_duration("1.5", &v), 0);
    assert_true(v == 1500 * NS_PER_MS);
    assert_int_equal(num_parse_duration("2m", &v), 0);
    assert_true(v == 120 * NS_PER_S);
    assert_int_equal(num_parse_duration("1.5ms", &v), -EINVAL);
    assert_int_equal(num_parse_duration("1.", &v), -EINVAL);
    assert_int_equal(num_parse_duration("inf", &v), -EINVAL);
    assert_int_equal(num_parse_duration("99999999999999999999", &v), -ERANGE);
}

TEST_MAIN(T(numbers_are_whole_strings_of_digits), T(sizes_take_binary_suffixes),
          T(durations_are_seconds_unless_they_say_otherwise))
