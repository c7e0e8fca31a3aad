#include <errno.h>
#include <string.h>

#include "base/str.h"

#include "test.h"

static void utf8_is_accepted_only_well_formed(void **state)
{
    static const struct {
        const char *text;
        bool ok;
    } cases[] = {
        {"", true},
        {"plain", true},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", true},
        {"\xf4\x8f\xbf\xbf", true},  /* U+10FFFF */
        {"\xed\x9f\xbf", true},      /* last before the surrogates */
        {"\xee\x80\x80", true},      /* first after them */
        {"\xf4\x90\x80\x80", false}, /* U+110000 */
        {"\xed\xa0\x80", false},     /* surrogate */
        {"\xc0\x80", false},         /* overlong NUL */
        {"\xe0\x80\xaf", false},     /* overlong '/' */
        {"\xf0\x80\x80\xaf", false},
        {"\xc1\xbf", false},
        {"\x80", false},
        {"\xe2\x82", false},
        {"\xe2(\xa1", false},
        {"\xff", false},
        {"\xf8\x88\x80\x80\x80", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (str_is_utf8(cases[i].text, strlen(cases[i].text)) != cases[i].ok) {
            fail_msg("case %zu", i);
        }
    }
    assert_true(str_is_utf8("a\0b", 3));
}

static void nothing_that_drives_a_terminal_gets_through(void **state)
{
    static const struct {
        const char *text, *expected;
        bool keep_newline;
    } cases[] = {
        {"a\nb\tc", "a\nb\tc", true},
        {"a\nb\tc", "a\\x0ab\\x09c", false},
        {"\r\b\a\033[0m\x7f", "\\x0d\\x08\\x07\\x1b[0m\\x7f", true},
        {"\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\\xc2\\x80\\xc2\\x9b\\xc2\\x9f\xc2\xa0", true},
        {"\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9",
         "\\xe2\\x80\\xaa\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xe2\\x81\\xa9", true},
        {"\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", "\\xe2\\x80\\x8e\\xe2\\x80\\x8f\\xd8\\x9c", true},
        {"\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9", true},
        {"ok\xff\xe2\x82", "ok\\xff\\xe2\\x82", true},
        {"\xc3\xa9\xe2\x82\xac", "\xc3\xa9\xe2\x82\xac", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf struct buf out = BUF_INIT(256);

        assert_int_equal(
            str_escape(&out, cases[i].text, strlen(cases[i].text), cases[i].keep_newline), 0);
        assert_string_equal((const char *)out.data, cases[i].expected);
    }
}

static void every_byte_comes_out_printable(void **state)
{
    uint8_t all[256];
    auto_buf struct buf out = BUF_INIT(4096);

    (void)state;
    for (size_t i = 0; i < sizeof(all); i++) {
        all[i] = (uint8_t)i;
    }
    assert_int_equal(str_escape(&out, all, sizeof(all), false), 0);
    assert_true(str_is_utf8(out.data, out.len));
    for (size_t i = 0; i < out.len; i++) {
        assert_true(out.data[i] >= 0x20 && out.data[i] != 0x7f);
    }
}

static void a_full_buffer_is_reported(void **state)
{
    auto_buf struct buf out = BUF_INIT(3);

    (void)state;
    assert_int_equal(str_escape(&out, "abcd", 4, false), -ENOBUFS);
}

TEST_MAIN(T(utf8_is_accepted_only_well_formed), T(nothing_that_drives_a_terminal_gets_through),
          T(every_byte_comes_out_printable), T(a_full_buffer_is_reported))
