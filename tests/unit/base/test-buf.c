#include <errno.h>
#include <string.h>

#include "base/buf.h"

#include "test.h"

static void the_maximum_is_reached_but_never_passed(void **state)
{
    auto_buf struct buf buf = BUF_INIT(5);

    (void)state;
    assert_null(buf.data);
    assert_int_equal(buf_put(&buf, "abc", 3), 0);
    assert_int_equal(buf_put(&buf, "def", 3), -ENOBUFS);
    assert_int_equal(buf.len, 3);
    assert_string_equal((const char *)buf.data, "abc");
    assert_int_equal(buf_put(&buf, "de", 2), 0);
    assert_int_equal(buf_put(&buf, "", 0), 0);
    assert_int_equal(buf_put(&buf, "f", 1), -ENOBUFS);
    assert_int_equal(buf_put(&buf, "f", SIZE_MAX), -ENOBUFS);
    assert_string_equal((const char *)buf.data, "abcde");
}

static void it_grows_and_stays_terminated(void **state)
{
    auto_buf struct buf buf = BUF_INIT(100000);

    (void)state;
    for (size_t i = 0; i < 100000; i++) {
        assert_int_equal(buf_put(&buf, "x", 1), 0);
    }
    assert_int_equal(buf.len, 100000);
    assert_int_equal(strlen((const char *)buf.data), 100000);
    assert_true(buf.cap <= buf.max + 1);
}

static void formatted_text_is_all_or_nothing(void **state)
{
    auto_buf struct buf buf = BUF_INIT(8);

    (void)state;
    assert_int_equal(buf_printf(&buf, "%d-%s", 42, "ab"), 0);
    assert_string_equal((const char *)buf.data, "42-ab");
    assert_int_equal(buf_printf(&buf, "%d", 1234), -ENOBUFS);
    assert_string_equal((const char *)buf.data, "42-ab");
    assert_int_equal(buf_printf(&buf, "%d", 123), 0);
    assert_string_equal((const char *)buf.data, "42-ab123");
}

static void consuming_moves_the_rest_to_the_front(void **state)
{
    auto_buf struct buf buf = BUF_INIT(16);

    (void)state;
    buf_consume(&buf, 0);
    assert_int_equal(buf_put(&buf, "abcdef", 6), 0);
    buf_consume(&buf, 2);
    assert_string_equal((const char *)buf.data, "cdef");
    buf_consume(&buf, 4);
    assert_int_equal(buf.len, 0);
    assert_int_equal(buf_put(&buf, "0123456789abcdef", 16), 0);
    assert_int_equal(buf.len, 16);
}

static void reserved_room_is_filled_by_the_caller(void **state)
{
    auto_buf struct buf buf = BUF_INIT(4);
    uint8_t *at = NULL;

    (void)state;
    assert_int_equal(buf_reserve(&buf, 5, &at), -ENOBUFS);
    assert_int_equal(buf_reserve(&buf, 4, &at), 0);
    assert_int_equal(buf.len, 0);
    memcpy(at, "wxyz", 4);
    buf.len += 4;
    assert_memory_equal(buf.data, "wxyz", 4);
}

TEST_MAIN(T(the_maximum_is_reached_but_never_passed), T(it_grows_and_stays_terminated),
          T(formatted_text_is_all_or_nothing), T(consuming_moves_the_rest_to_the_front),
          T(reserved_room_is_filled_by_the_caller))
