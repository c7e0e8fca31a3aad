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
    struct library library = {"libm.so.6", "libc6", symbols, ARRAY_LEN(symbols), false};
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(library_load(&library, &err), &err);
    assert_true(cosine(0.0) > 0.99);
    cosine = NULL;
    assert_ok(library_load(&library, &err), &err);
    assert_null(cosine); /* it is looked for once */
}

static void one_that_is_not_there_is_named_with_its_package(void **state)
{
    static const struct library_symbol symbols[] = {{"cos", (void **)&cosine}};
    struct library library = {"libairlock-none.so.1", "airlock-none", symbols, ARRAY_LEN(symbols),
                              false};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(library_load(&library, &err), -ENOENT);
    assert_int_equal(err.class, ERR_HOST);
    assert_non_null(strstr(err.msg, "libairlock-none.so.1"));
    assert_non_null(strstr(err.msg, "install package airlock-none"));
}

static void a_symbol_that_it_lacks_is_named(void **state)
{
    static const struct library_symbol symbols[] = {{"cos", (void **)&cosine},
                                                    {"airlock_none", &other}};
    struct library library = {"libm.so.6", "libc6", symbols, ARRAY_LEN(symbols), false};
    struct err err = ERR_INIT;

    (void)state;
    for (int i = 0; i < 2; i++) { /* not taken for loaded the second time */
        err = (struct err)ERR_INIT;
        assert_int_equal(library_load(&library, &err), -ENOSYS);
    }
    assert_int_equal(err.class, ERR_HOST);
    assert_non_null(strstr(err.msg, "airlock_none"));
    assert_null(other);
}

TEST_MAIN(T(its_symbols_are_set), T(one_that_is_not_there_is_named_with_its_package),
          T(a_symbol_that_it_lacks_is_named))
