/*
 * test.h - what every unit test includes: cmocka, plus fd accounting around each case.
 *
 * A case is `static void what_must_hold(void **state)`, listed with T(); a descriptor that a case
 * leaves open fails it without any sanitizer.
 */
#pragma once

/* cmocka.h needs these before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/base.h"
#include "base/err.h"

/* Group fixture and per-case accounting; see test.c. */
int test_fds_before(void **state);
int test_fds_after(void **state);

#define T(f) cmocka_unit_test_setup_teardown(f, test_fds_before, test_fds_after)

#define TEST_MAIN(...)                                    \
    int main(void)                                        \
    {                                                     \
        const struct CMUnitTest tests[] = {__VA_ARGS__};  \
        return cmocka_run_group_tests(tests, NULL, NULL); \
    }

/* r is 0, or the case fails with the error's text. A function, so that a case stays simple. */
static inline void test_ok_at(int r, const struct err *err, const char *file, int line)
{
    if (r != 0) {
        print_error("unexpected error: %s\n", err->msg);
        _fail(file, line);
    }
}

#define assert_ok(r, err) test_ok_at((r), (err), __FILE__, __LINE__)
