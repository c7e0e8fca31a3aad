#include <stdio.h>
#include <string.h>

#include "daemon/framing.h"
#include "test.h"

#define HEAD_MAX 1024u

/* The status of the refusal; 0: the head is good; 1: more is needed. */
static unsigned int head_status(const char *text, size_t len, struct framing *ret)
{
    struct refusal refusal = {0};
    int r = 0;

    *ret = (struct framing)FRAMING_INIT;
    r = framing_head(ret, (const uint8_t *)text, len, HEAD_MAX, &refusal);
    if (r < 0) {
        assert_true(refusal.status >= 400 && refusal.detail[0] != '\0');
        return refusal.status;
    }
    return r == 0 ? 1 : 0;
}

static unsigned int status_of(const char *text)
{
    struct framing f;

    return head_status(text, strlen(text), &f);
}

#define GET "GET / HTTP/1.1\r\nHost: x\r\n"

static void a_plain_request_has_no_body(void **state)
{
    struct framing f;

    assert_int_equal(head_status(GET "\r\nrest", strlen(GET) + 6, &f), 0);
    assert_int_equal(f.state, FRAMING_DONE);
}

static void a_head_is_good_only_when_it_is_whole(void **state)
{
    static const char text[] = GET "Content-Length: 7\r\n\r\n";

    for (size_t n = 0; n < sizeof(text) - 1; n++) {
        struct framing f;

        assert_int_equal(head_status(text, n, &f), 1);
    }
    assert_int_equal(status_of(text), 0);
}

static void a_head_may_come_byte_by_byte(void **state)
{
    static const char text[] = GET "Content-Length: 7\r\n\r\n";
    struct framing f = FRAMING_INIT;
    struct refusal refusal = {0};

    for (size_t n = 1; n < sizeof(text) - 1; n++) {
        assert_int_equal(framing_head(&f, (const uint8_t *)text, n, HEAD_MAX, &refusal), 0);
    }
    assert_int_equal(framing_head(&f, (const uint8_t *)text, sizeof(text) - 1, HEAD_MAX, &refusal),
                     (int)sizeof(text) - 1);
    assert_int_equal(f.state, FRAMING_LENGTH);
    assert_int_equal(f.left, 7);
}

static void ends_of_lines_are_cr_lf(void **state)
{
    assert_int_equal(status_of("GET / HTTP/1.1\nHost: x\n\n"), 400);
    assert_int_equal(status_of("GET / HTTP/1.1\r\nHost: x\n"), 400);
    assert_int_equal(status_of(GET "A: b\rc\r\n\r\n"), 400);
    assert_int_equal(status_of("\r\n" GET "\r\n"), 400);
}

static void headers_have_one_reading(void **state)
{
    static const char *const bad[] = {
        GET " A: b\r\n\r\n",      GET "A: b\r\n c\r\n\r\n", GET "A : b\r\n\r\n",
        GET "A\r\n\r\n",          GET ": b\r\n\r\n",        GET "A: b\x01\r\n\r\n",
        GET "A: b\x7f\r\n\r\n",   GET "Host: y\r\n\r\n",    GET "(A): b\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(status_of(bad[i]), 400);
    }
    assert_int_equal(status_of(GET "A:b\r\nB: \t c \t\r\nC:\r\n\r\n"), 0);
}

static void nul_is_nowhere_taken(void **state)
{
    static const char value[] = GET "A: b\0c\r\n\r\n";
    static const char name[] = GET "A\0: c\r\n\r\n";
    static const char target[] = "GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n";
    struct framing f;

    assert_int_equal(head_status(value, sizeof(value) - 1, &f), 400);
    assert_int_equal(head_status(name, sizeof(name) - 1, &f), 400);
    assert_int_equal(head_status(target, sizeof(target) - 1, &f), 400);
}

static void the_request_line_is_exact(void **state)
{
    static const struct {
        const char *line;
        unsigned int status;
    } lines[] = {
        {"GET / HTTP/1.1", 0},
        {"GET /a?b=c%20 HTTP/1.1", 0},
        {"GET / HTTP/1.0", 505},
        {"GET / HTTP/2.0", 505},
        {"GET / http/1.1", 400},
        {"GET / HTTP/1.11", 400},
        {"GET  / HTTP/1.1", 400},
        {"GET /  HTTP/1.1", 400},
        {"GET /a b HTTP/1.1", 400},
        {"GET a HTTP/1.1", 400},
        {"GET * HTTP/1.1", 400},
        {"GET http://x/ HTTP/1.1", 400},
        {"GET /#a HTTP/1.1", 400},
        {"GET /\xc3\xa4 HTTP/1.1", 400},
        {"GET /", 400},
        {"GET", 400},
        {"G(T / HTTP/1.1", 400},
        {"GETGETGETGETGETGE / HTTP/1.1", 400},
        {"GET / HTTP/1.1 ", 400},
    };

    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        char text[200];

        (void)snprintf(text, sizeof(text), "%s\r\nHost: x\r\n\r\n", lines[i].line);
        assert_int_equal(status_of(text), lines[i].status);
    }
}

static void lengths_are_digits_once(void **state)
{
    static const struct {
        const char *value;
        unsigned int status;
    } values[] = {
        {"0", 0},
        {"12", 0},
        {"-1", 400},
        {"+1", 400},
        {"0x1", 400},
        {"1 2", 400},
        {"1,1", 400},
        {"", 400},
        {"1e3", 400},
        {"12a", 400},
        {"9223372036854775808", 413},
        {"99999999999999999999999", 413},
    };

    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        char text[200];

        (void)snprintf(text, sizeof(text), GET "Content-Length: %s\r\n\r\n", values[i].value);
        assert_int_equal(status_of(text), values[i].status);
    }
    assert_int_equal(status_of(GET "Content-Length: 1\r\ncontent-length: 1\r\n\r\n"), 400);
    assert_int_equal(status_of(GET "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

static void the_only_coding_is_chunked(void **state)
{
    struct framing f;
    static const char good[] = GET "Transfer-Encoding: Chunked\r\n\r\n";

    assert_int_equal(head_status(good, sizeof(good) - 1, &f), 0);
    assert_int_equal(f.state, FRAMING_CHUNK_SIZE);
    assert_int_equal(status_of(GET "Transfer-Encoding: gzip, chunked\r\n\r\n"), 501);
    assert_int_equal(status_of(GET "Transfer-Encoding: xchunked\r\n\r\n"), 501);
    assert_int_equal(
        status_of(GET "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

static void a_head_has_bounds(void **state)
{
    char text[8 * HEAD_MAX];
    struct framing f;
    size_t n = (size_t)snprintf(text, sizeof(text), GET);

    memset(text + n, 'a', sizeof(text) - n);
    assert_int_equal(head_status(text, HEAD_MAX - 1, &f), 1);
    assert_int_equal(head_status(text, HEAD_MAX, &f), 431);
    for (unsigned int i = 0; i < FRAMING_HEADERS_MAX; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "A:b\r\n");
    }
    n += (size_t)snprintf(text + n, sizeof(text) - n, "\r\n");
    assert_int_equal(head_status(text, n, &f), 431);
}

/* As head_status(), of a body that comes in pieces of `step` bytes; *ret_used of all. */
static unsigned int body_status(enum framing_state from, uint64_t left, const char *text,
                                size_t step, size_t *ret_used)
{
    struct framing f = {.state = from, .left = left};
    struct refusal refusal = {0};
    size_t len = strlen(text);

    *ret_used = 0;
    for (size_t at = 0; at < len && f.state != FRAMING_DONE; at += step) {
        size_t n = len - at < step ? len - at : step;
        size_t used = 0;

        if (framing_body(&f, (const uint8_t *)text + at, n, &used, &refusal) < 0) {
            return refusal.status;
        }
        *ret_used += used;
    }
    return f.state == FRAMING_DONE ? 0 : 1;
}

static void a_body_ends_where_its_length_says(void **state)
{
    size_t used = 0;

    assert_int_equal(body_status(FRAMING_LENGTH, 5, "helloGET", 100, &used), 0);
    assert_int_equal(used, 5);
    assert_int_equal(body_status(FRAMING_LENGTH, 5, "helloGET", 1, &used), 0);
    assert_int_equal(used, 5);
    assert_int_equal(body_status(FRAMING_LENGTH, 9, "helloGET", 3, &used), 1);
}

static void chunks_end_with_the_empty_one(void **state)
{
    static const char text[] = "5\r\nhello\r\n00A\r\n0123456789\r\n0\r\n\r\n";
    size_t used = 0;

    for (size_t step = 1; step < sizeof(text); step++) {
        char more[100];

        (void)snprintf(more, sizeof(more), "%sGET", text);
        assert_int_equal(body_status(FRAMING_CHUNK_SIZE, 0, more, step, &used), 0);
        assert_int_equal(used, sizeof(text) - 1);
    }
}

static void chunks_are_exact(void **state)
{
    static const struct {
        const char *text;
        unsigned int status;
    } bad[] = {
        {"-1\r\n", 400},      {"0x1\r\n", 400},       {" 1\r\n", 400},
        {"1 \r\n", 400},      {"1;a\r\n", 400},       {"\r\n", 400},
        {"g\r\n", 400},       {"1\n", 400},           {"1\r\r", 400},
        {"1\r\nab\r\n", 400}, {"1\r\na\n", 400},      {"0\r\nA: b\r\n\r\n", 400},
        {"0\r\n\n", 400},     {"123456789\r\n", 413}, {"1\r\na\r\n\r\n", 400},
    };

    size_t used = 0;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(body_status(FRAMING_CHUNK_SIZE, 0, bad[i].text, 100, &used),
                         bad[i].status);
        assert_int_equal(body_status(FRAMING_CHUNK_SIZE, 0, bad[i].text, 1, &used), bad[i].status);
    }
}

TEST_MAIN(T(a_plain_request_has_no_body), T(a_head_is_good_only_when_it_is_whole),
          T(a_head_may_come_byte_by_byte), T(ends_of_lines_are_cr_lf), T(headers_have_one_reading),
          T(nul_is_nowhere_taken), T(the_request_line_is_exact), T(lengths_are_digits_once),
          T(the_only_coding_is_chunked), T(a_head_has_bounds), T(a_body_ends_where_its_length_says),
          T(chunks_end_with_the_empty_one), T(chunks_are_exact))
