/* A library that is loaded when it is needed: all of its symbols, or an error with its name. */
#include <errno.h>
#include <string.h>

#include "sys/library.h"
#include "test.h"

static double (*cosine)(double);
static void *other;

static void its_symbols_are_set(void **state)
{
    static const struct library_symbol symbols[] = {{"cos", (void **)&cosine}};
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(library_load("libm.so.6", "libc6", symbols, ARRAY_LEN(symbols), &err), &err);
    assert_true(cosine(0.0) > 0.99);
}

static void one_that_is_not_there_is_named_with_its_package(void **state)
{
    static const struct library_symbol symbols[] = {{"cos", (void **)&cosine}};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(
        library_load("libairlock-none.so.1", "airlock-none", symbols, ARRAY_LEN(symbols), &err),
        -ENOENT);
    assert_int_equal(err.class, ERR_HOST);
    assert_non_null(strstr(err.msg, "libairlock-none.so.1"));
    assert_non_null(strstr(err.msg, "install package airlock-none"));
}

static void a_symbol_that_it_lacks_is_named(void **state)
{
    static const struct library_symbol symbols[] = {{"cos", (void **)&cosine},
                                                    {"airlock_none", &other}};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(library_load("libm.so.6", "libc6", symbols, ARRAY_LEN(symbols), &err),
                     -ENOSYS);
    assert_int_equal(err.class, ERR_HOST);
    assert_non_null(strstr(err.msg, "airlock_none"));
    assert_null(other);
}

TEST_MAIN(T(its_symbols_are_set), T(one_that_is_not_there_is_named_with_its_package),
          T(a_symbol_that_it_lacks_is_named))
