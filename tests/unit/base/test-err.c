#include <errno.h>
#include <string.h>

#include "test.h"

static void an_error_carries_class_number_place_and_text(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(err_usage(&err, "no '%s'", "x"), -EINVAL);
    assert_int_equal(err.class, ERR_USAGE);
    assert_int_equal(err.errnum, EINVAL);
    assert_string_equal(err.msg, "no 'x'");
    assert_non_null(strstr(err.file, "test-err.c"));
    assert_true(err.line > 0);
}

static void a_system_error_ends_in_its_reason(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    errno = ENOENT;
    assert_int_equal(err_sys(&err, "open '%s'", "/x"), -ENOENT);
    assert_int_equal(err.class, ERR_HOST);
    assert_string_equal(err.msg, "open '/x': No such file or directory");
}

static void wrapping_puts_context_in_front_and_keeps_the_number(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    (void)err_sys_num(&err, EIO, "read");
    assert_int_equal(err_wrap(&err, "layer %d", 3), -EIO);
    assert_string_equal(err.msg, "layer 3: read: Input/output error");
    assert_int_equal(err.class, ERR_HOST);
}

static void long_text_is_cut_and_terminated(void **state)
{
    char text[3 * ERR_MSG_MAX];
    struct err err = ERR_INIT;

    (void)state;
    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    (void)err_guest(&err, "%s", text);
    assert_int_equal(err.class, ERR_GUEST);
    assert_int_equal(strlen(err.msg), ERR_MSG_MAX - 1);
    (void)err_wrap(&err, "%s", text);
    assert_int_equal(strlen(err.msg), ERR_MSG_MAX - 1);
    err = (struct err)ERR_INIT;
    (void)err_sys_num(&err, EIO, "%s", text);
    assert_int_equal(strlen(err.msg), ERR_MSG_MAX - 1);
}

TEST_MAIN(T(an_error_carries_class_number_place_and_text), T(a_system_error_ends_in_its_reason),
          T(wrapping_puts_context_in_front_and_keeps_the_number),
          T(long_text_is_cut_and_terminated))
