#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/sse.h"
#include "test.h"

/* Events as text: "NAME#ID=DATA;" */
static int note(void *ctx, const struct sse_event *event, struct err *err)
{
    struct buf *heard = ctx;

    if (event->len == 4 && memcmp(event->data, "fail", 4) == 0) {
        return err_set(err, ERR_HOST, EBADMSG, "the listener's own failure");
    }
    assert_int_equal(buf_printf(heard, "%s#%llu=%.*s;", event->name, (unsigned long long)event->id,
                                (int)event->len, event->len > 0 ? (const char *)event->data : ""),
                     0);
    return 0;
}

static int feed(const void *data, size_t len, size_t step, struct buf *heard, struct err *err)
{
    struct sse sse;
    int r = 0;

    sse_init(&sse, 7, note, heard);
    for (size_t at = 0; at < len && r == 0; at += step) {
        r = sse_feed(&sse, (const char *)data + at, len - at < step ? len - at : step, err);
    }
    sse_fini(&sse);
    return r;
}

static void check(const char *stream, const char *expected)
{
    for (size_t step = 1; step <= strlen(stream) + 1; step++) {
        auto_buf struct buf heard = BUF_INIT(4096);
        struct err err = ERR_INIT;

        assert_ok(feed(stream, strlen(stream), step, &heard, &err), &err);
        assert_string_equal(heard.data != NULL ? (const char *)heard.data : "", expected);
    }
}

static void events_are_the_same_in_whatever_pieces_they_come(void **state)
{
    (void)state;
    check("id: 8\nevent: stdout\ndata: {}\n\n", "stdout#8={};");
    check("data:a\n\ndata: b\n\n", "message#7=a;message#7=b;");
    check("id:9\ndata\n\n", "message#9=;");
    check("data: one\ndata: two\ndata:\n\n", "message#7=one\ntwo\n;");
    check("event: x\ndata: 1\n\ndata: 2\n\n", "x#7=1;message#7=2;");
}

static void every_line_end_of_the_standard_counts_once(void **state)
{
    (void)state;
    check("data: a\r\n\r\ndata: b\r\rdata: c\n\n", "message#7=a;message#7=b;message#7=c;");
    check("\xef\xbb\xbf"
          "data: a\n\n",
          "message#7=a;");
    check("data: \xef\xbb\xbf\n\n", "message#7=\xef\xbb\xbf;");
}

static void comments_and_unknown_fields_are_nothing(void **state)
{
    (void)state;
    check(": ping\n\n:\n\nretry: 1\n\nother: x\n\n", "");
    check("event: alone\n\ndata: after\n\n", "message#7=after;");
}

static void an_event_cut_off_by_the_end_never_happened(void **state)
{
    (void)state;
    check("data: whole\n\ndata: half\n", "message#7=whole;");
}

static void broken(const char *stream, size_t len)
{
    auto_buf struct buf heard = BUF_INIT(4096);
    struct err err = ERR_INIT;

    assert_int_equal(feed(stream, len, 3, &heard, &err), -EPROTO);
    assert_int_equal(err.class, ERR_HOST);
}

static void numbers_and_names_that_are_none_break_the_stream(void **state)
{
    (void)state;
    broken("id: x\n", 6);
    broken("id: -1\n", 7);
    broken("id:\n", 4);
    broken("id: 99999999999999999999\n", 25);
    broken("id: 1\0x\n", 8);
    broken("event: 0123456789012345678901234567890123\n", 42);
}

static void a_broken_stream_stays_broken(void **state)
{
    auto_buf struct buf heard = BUF_INIT(4096);
    struct err err = ERR_INIT;
    struct sse sse;

    (void)state;
    sse_init(&sse, 0, note, &heard);
    assert_int_equal(sse_feed(&sse, "id: x\n", 6, &err), -EPROTO);
    err = (struct err)ERR_INIT;
    assert_int_equal(sse_feed(&sse, "data: a\n\n", 9, &err), -EPROTO);
    assert_null(heard.data);
    sse_fini(&sse);
}

static void a_failing_listener_ends_it_with_its_own_error(void **state)
{
    static const char stream[] = "data: fail\n\ndata: x\n\n";
    auto_buf struct buf heard = BUF_INIT(4096);
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(feed(stream, sizeof(stream) - 1, 64, &heard, &err), -EBADMSG);
    assert_null(heard.data);
}

static void a_line_without_end_is_cut_off(void **state)
{
    static char piece[MIB];
    auto_buf struct buf heard = BUF_INIT(4096);
    struct err err = ERR_INIT;
    struct sse sse;
    size_t taken = 0;
    int r = 0;

    (void)state;
    memset(piece, 'x', sizeof(piece));
    sse_init(&sse, 0, note, &heard);
    while (r == 0 && taken <= 2 * SSE_DATA_MAX) {
        r = sse_feed(&sse, piece, sizeof(piece), &err);
        taken += sizeof(piece);
    }
    assert_int_equal(r, -EPROTO);
    assert_true(taken <= SSE_DATA_MAX + 2 * MIB);
    sse_fini(&sse);
}

TEST_MAIN(T(events_are_the_same_in_whatever_pieces_they_come),
          T(every_line_end_of_the_standard_counts_once), T(comments_and_unknown_fields_are_nothing),
          T(an_event_cut_off_by_the_end_never_happened),
          T(numbers_and_names_that_are_none_break_the_stream), T(a_broken_stream_stays_broken),
          T(a_failing_listener_ends_it_with_its_own_error), T(a_line_without_end_is_cut_off))
