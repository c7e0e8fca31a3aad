#include <errno.h>
#include <string.h>

#include "proto/outar.h"
#include "test.h"

static bool ok(const char *name, size_t len, uint32_t depth)
{
    uint32_t got = 0;

    return outar_name_ok((const uint8_t *)name, len, &got) && got == depth;
}

static bool refused(const char *name, size_t len)
{
    uint32_t got = 0;

    return !outar_name_ok((const uint8_t *)name, len, &got);
}

static void headers_survive_the_trip(void **state)
{
    struct outar_header h = {
        .kind = OUTAR_FILE, .mode = 0640, .name_len = 4096, .size = 1ull << 40};
    struct outar_header got = {0};
    struct err err = ERR_INIT;
    uint8_t raw[OUTAR_HEADER_SIZE];

    (void)state;
    outar_header_encode(raw, &h);
    assert_memory_equal(raw, "aotr", 4);
    assert_ok(outar_header_decode(raw, &got, &err), &err);
    assert_int_equal(got.kind, OUTAR_FILE);
    assert_int_equal(got.mode, 0640);
    assert_int_equal(got.name_len, 4096);
    assert_true(got.size == 1ull << 40);
}

static int decode(struct outar_header h, size_t at, uint8_t bits)
{
    struct outar_header got = {0};
    struct err err = ERR_INIT;
    uint8_t raw[OUTAR_HEADER_SIZE];

    outar_header_encode(raw, &h);
    raw[at] ^= bits;
    return outar_header_decode(raw, &got, &err);
}

static void headers_that_break_the_rules_are_refused(void **state)
{
    struct outar_header file = {.kind = OUTAR_FILE, .mode = 0644, .name_len = 1, .size = 3};
    struct outar_header dir = {.kind = OUTAR_DIR, .mode = 0755, .name_len = 1, .size = 1};
    struct outar_header end = {.kind = OUTAR_END, .name_len = 1};
    struct outar_header long_name = {.kind = OUTAR_FILE, .name_len = OUTAR_PATH_MAX + 1};
    struct outar_header no_name = {.kind = OUTAR_OTHER};

    (void)state;
    assert_int_equal(decode(file, 0, 0), 0);
    assert_int_equal(decode(file, 0, 1), -EPROTO);
    assert_int_equal(decode(file, 4, 8), -EPROTO);
    assert_int_equal(decode(file, 4, 1), -EPROTO); /* kind 0 */
    assert_int_equal(decode(file, 5, 1), -EPROTO);
    assert_int_equal(decode(file, 7, 1), -EPROTO);
    assert_int_equal(decode(file, 9, 0x80), -EPROTO); /* mode over 07777 */
    assert_int_equal(decode(dir, 0, 0), -EPROTO);
    assert_int_equal(decode(end, 0, 0), -EPROTO);
    assert_int_equal(decode(long_name, 0, 0), -EPROTO);
    assert_int_equal(decode(no_name, 0, 0), -EPROTO);
    end.name_len = 0;
    assert_int_equal(decode(end, 0, 0), 0);
}

static void names_cannot_leave_the_directory(void **state)
{
    char big[OUTAR_PATH_MAX + 2];

    (void)state;
    memset(big, 'x', sizeof(big));
    assert_true(ok("a", 1, 1));
    assert_true(ok("a/b/c", 5, 3));
    assert_true(ok("...", 3, 1));
    assert_true(ok(".a/..b", 6, 2));
    assert_true(ok("\xff\n", 2, 1)); /* names are bytes */
    assert_true(ok(big, OUTAR_PATH_MAX, 1));
    assert_true(refused("", 0));
    assert_true(refused("/a", 2));
    assert_true(refused("a/", 2));
    assert_true(refused("a//b", 4));
    assert_true(refused(".", 1));
    assert_true(refused("..", 2));
    assert_true(refused("../a", 4));
    assert_true(refused("a/..", 4));
    assert_true(refused("a/./b", 5));
    assert_true(refused("a\0b", 3));
    assert_true(refused(big, OUTAR_PATH_MAX + 1));
}

TEST_MAIN(T(headers_survive_the_trip), T(headers_that_break_the_rules_are_refused),
          T(names_cannot_leave_the_directory))
