#include <string.h>

#include "cli/term.h"
#include "test.h"

/* data in pieces of step bytes must come out as expected. */
static void check(const char *data, size_t step, bool escape, const char *expected)
{
    struct term term = {.escape = escape};
    auto_buf struct buf out = BUF_INIT(4096);
    size_t len = strlen(data);

    for (size_t at = 0; at < len; at += step) {
        assert_int_equal(term_put(&term, data + at, len - at < step ? len - at : step, &out), 0);
    }
    assert_int_equal(term_end(&term, &out), 0);
    assert_string_equal(out.data != NULL ? (const char *)out.data : "", expected);
}

static void bytes_pass_unchanged_off_a_terminal(void **state)
{
    static const char data[] = "a\033[2J\xff\xe2\x82";

    (void)state;
    for (size_t step = 1; step < sizeof(data); step++) {
        check(data, step, false, data);
    }
}

static void pieces_give_the_same_text_as_the_whole(void **state)
{
    static const struct {
        const char *data, *expected;
    } cases[] = {
        {"plain\n", "plain\n"},
        {"\xe2\x82\xac|\xf0\x9f\x98\x80|\xc3\xa9", "\xe2\x82\xac|\xf0\x9f\x98\x80|\xc3\xa9"},
        {"\033]0;title\007x", "\\x1b]0;title\\x07x"},
        {"\xc2\x9b"
         "31m", /* CSI as one C1 character */
         "\\xc2\\x9b31m"},
        {"a\xe2\x80\xae"
         "b", /* right-to-left override */
         "a\\xe2\\x80\\xaeb"},
        {"\xe2\x82", "\\xe2\\x82"},
        {"\xe2\x82x\xff\xe2", "\\xe2\\x82x\\xff\\xe2"},
        {"\xe2\xe2\x82\xac", "\\xe2\xe2\x82\xac"},
        {"\xf0\x9f\xc3\xa9", "\\xf0\\x9f\xc3\xa9"},
        {"\x80\x80\x80\x80\xac", "\\x80\\x80\\x80\\x80\\xac"},
        {"\xf0\x9f\x98\n\xf0\x9f\x98\x80", "\\xf0\\x9f\\x98\n\xf0\x9f\x98\x80"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t step = 1; step <= strlen(cases[i].data); step++) {
            check(cases[i].data, step, true, cases[i].expected);
        }
    }
}

static void an_unfinished_line_is_known(void **state)
{
    struct term term = {.escape = true};
    auto_buf struct buf out = BUF_INIT(4096);

    (void)state;
    assert_false(term.mid_line);
    assert_int_equal(term_put(&term, "ab", 2, &out), 0);
    assert_true(term.mid_line);
    assert_int_equal(term_put(&term, "c\n", 2, &out), 0);
    assert_false(term.mid_line);
}

TEST_MAIN(T(bytes_pass_unchanged_off_a_terminal), T(pieces_give_the_same_text_as_the_whole),
          T(an_unfinished_line_is_known))
