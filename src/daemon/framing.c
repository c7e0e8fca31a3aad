/*
 * How it works: while a head is incomplete only the ends of its lines are looked at, each byte once;
 * when it is whole its lines are parsed in one pass. Names of headers are compared without their
 * case, values are never decoded here. References: RFC 9112 (messages), RFC 9110, 5.5 (fields).
 */
#include "daemon/framing.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define METHOD_MAX 16u

/* A piece of the head. */
struct piece {
    const char *s;
    size_t len;
};

enum header {
    HEADER_HOST,
    HEADER_CONTENT_LENGTH,
    HEADER_TRANSFER_ENCODING,
    HEADER_EXPECT,
    HEADER_AUTHORIZATION,
    HEADER_CONTENT_TYPE,
    HEADER_CONTENT_ENCODING,
    HEADER_IDEMPOTENCY_KEY,
    HEADER_LAST_EVENT_ID,
    HEADER_ORIGIN,
    HEADER_RANGE,
    HEADERS,
};

/* Those that change what a request means: each at most once. */
static const char *const header_names[HEADERS] = {
    [HEADER_HOST] = "Host",
    [HEADER_CONTENT_LENGTH] = "Content-Length",
    [HEADER_TRANSFER_ENCODING] = "Transfer-Encoding",
    [HEADER_EXPECT] = "Expect",
    [HEADER_AUTHORIZATION] = "Authorization",
    [HEADER_CONTENT_TYPE] = "Content-Type",
    [HEADER_CONTENT_ENCODING] = "Content-Encoding",
    [HEADER_IDEMPOTENCY_KEY] = "Idempotency-Key",
    [HEADER_LAST_EVENT_ID] = "Last-Event-ID",
    [HEADER_ORIGIN] = "Origin",
    [HEADER_RANGE] = "Range",
};

struct seen {
    struct piece value[HEADERS];
    bool is[HEADERS];
};

static bool is_token_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_token(struct piece p)
{
    for (size_t i = 0; i < p.len; i++) {
        if (!is_token_char(p.s[i])) {
            return false;
        }
    }
    return p.len > 0;
}

static bool piece_is(struct piece p, const char *word)
{
    return p.len == strlen(word) && strncasecmp(p.s, word, p.len) == 0;
}

static int refuse(struct refusal *ret, const char *why)
{
    return problem_set(ret, PROBLEM_BAD_REQUEST, "", "%s", why);
}

/* Finds the head's end. Its length, 0 if it is not there yet, -EINVAL. */
static int find_end(struct framing *f, const uint8_t *data, size_t len, struct refusal *ret)
{
    while (f->scanned < len) {
        const uint8_t *lf = memchr(data + f->scanned, '\n', len - f->scanned);
        size_t at = 0;

        if (lf == NULL) {
            f->scanned = len;
            return 0;
        }
        at = (size_t)(lf - data);
        if (at == 0 || data[at - 1] != '\r') {
            return refuse(ret, "a line of the head ends in LF alone; end lines in CR LF");
        }
        if (at - f->line == 1) {
            if (f->line == 0) {
                return refuse(ret, "the request begins with an empty line");
            }
            return (int)at + 1;
        }
        f->line = at + 1;
        f->scanned = at + 1;
    }
    return 0;
}

static int parse_version(struct piece version, struct refusal *ret)
{
    if (piece_is(version, "HTTP/1.1") && memcmp(version.s, "HTTP", 4) == 0) {
        return 0;
    }
    if (version.len == 8 && memcmp(version.s, "HTTP/", 5) == 0) {
        return problem_set(ret, PROBLEM_VERSION, "", "this server speaks HTTP/1.1 only");
    }
    return refuse(ret, "the request line does not end in HTTP/1.1");
}

/* METHOD SP TARGET SP VERSION, single blanks, the target a path. */
static int parse_request_line(struct piece line, struct refusal *ret)
{
    const char *sp1 = memchr(line.s, ' ', line.len);
    const char *sp2 = NULL;
    struct piece method = {.s = line.s};
    struct piece target = {0};

    if (sp1 == NULL) {
        return refuse(ret, "the request line has no target");
    }
    method.len = (size_t)(sp1 - line.s);
    if (!is_token(method) || method.len > METHOD_MAX) {
        return refuse(ret, "the method is not a word of HTTP");
    }
    target.s = sp1 + 1;
    sp2 = memchr(target.s, ' ', line.len - method.len - 1);
    if (sp2 == NULL) {
        return refuse(ret, "the request line has no version");
    }
    target.len = (size_t)(sp2 - target.s);
    if (target.len == 0 || target.s[0] != '/') {
        return refuse(ret, "the target must be a path that begins with '/'");
    }
    for (size_t i = 0; i < target.len; i++) {
        if (target.s[i] <= ' ' || target.s[i] > '~' || target.s[i] == '#') {
            return refuse(ret, "the target has a character that must be percent-encoded");
        }
    }
    return parse_version((struct piece){sp2 + 1, line.len - method.len - target.len - 2}, ret);
}

static struct piece trim(struct piece p)
{
    while (p.len > 0 && (p.s[0] == ' ' || p.s[0] == '\t')) {
        p.s++;
        p.len--;
    }
    while (p.len > 0 && (p.s[p.len - 1] == ' ' || p.s[p.len - 1] == '\t')) {
        p.len--;
    }
    return p;
}

static int parse_header(struct piece line, struct seen *seen, struct refusal *ret)
{
    const char *colon = NULL;
    struct piece name = {.s = line.s};
    struct piece value = {0};

    if (line.s[0] == ' ' || line.s[0] == '\t') {
        return refuse(ret, "a header is folded over two lines");
    }
    colon = memchr(line.s, ':', line.len);
    if (colon == NULL) {
        return refuse(ret, "a header has no colon");
    }
    name.len = (size_t)(colon - line.s);
    if (!is_token(name)) {
        return refuse(ret, "a header's name has a character that it must not have");
    }
    value = trim((struct piece){colon + 1, line.len - name.len - 1});
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.s[i];

        if ((c < ' ' && c != '\t') || c == 0x7f) {
            return refuse(ret, "a header's value has a control character");
        }
    }
    for (unsigned int i = 0; i < HEADERS; i++) {
        if (!piece_is(name, header_names[i])) {
            continue;
        }
        if (seen->is[i]) {
            return problem_set(ret, PROBLEM_BAD_REQUEST, header_names[i],
                               "%s stands twice in the head", header_names[i]);
        }
        seen->is[i] = true;
        seen->value[i] = value;
    }
    return 0;
}

static int parse_length(struct piece value, uint64_t *ret, struct refusal *ret_refusal)
{
    uint64_t v = 0;
    const char *name = header_names[HEADER_CONTENT_LENGTH];

    if (value.len == 0) {
        return problem_set(ret_refusal, PROBLEM_BAD_REQUEST, name, "%s is empty", name);
    }
    for (size_t i = 0; i < value.len; i++) {
        if (value.s[i] < '0' || value.s[i] > '9') {
            return problem_set(ret_refusal, PROBLEM_BAD_REQUEST, name,
                               "%s has something else than digits", name);
        }
        if (v > ((uint64_t)INT64_MAX - 9) / 10) {
            return problem_set(ret_refusal, PROBLEM_TOO_LARGE, name, "%s is too large", name);
        }
        v = v * 10 + (uint64_t)(value.s[i] - '0');
    }
    *ret = v;
    return 0;
}

/* What the headers mean together. */
static int decide_body(struct framing *f, const struct seen *seen, struct refusal *ret)
{
    uint64_t length = 0;
    int r = 0;

    if (!seen->is[HEADER_HOST]) {
        return problem_set(ret, PROBLEM_BAD_REQUEST, "Host", "Host is missing");
    }
    if (seen->is[HEADER_CONTENT_LENGTH]) {
        r = parse_length(seen->value[HEADER_CONTENT_LENGTH], &length, ret);
        if (r < 0) {
            return r;
        }
    }
    if (seen->is[HEADER_TRANSFER_ENCODING]) {
        if (seen->is[HEADER_CONTENT_LENGTH]) {
            return refuse(ret, "Content-Length and Transfer-Encoding exclude each other");
        }
        if (!piece_is(seen->value[HEADER_TRANSFER_ENCODING], "chunked")) {
            return problem_set(ret, PROBLEM_NOT_IMPLEMENTED, "Transfer-Encoding",
                               "the only transfer coding is chunked");
        }
    }
    if (seen->is[HEADER_EXPECT] && !piece_is(seen->value[HEADER_EXPECT], "100-continue")) {
        return problem_set(ret, PROBLEM_EXPECTATION, "Expect",
                           "the only expectation is 100-continue");
    }
    f->left = length;
    f->state = length > 0 ? FRAMING_LENGTH : FRAMING_DONE;
    if (seen->is[HEADER_TRANSFER_ENCODING]) {
        f->state = FRAMING_CHUNK_SIZE;
    }
    return 0;
}

/* The head without its last empty line; every line ends in CR LF. */
static int parse_head(struct framing *f, const char *head, size_t len, struct refusal *ret)
{
    struct seen seen = {0};
    size_t n = 0;

    for (size_t at = 0; at < len; n++) {
        const char *lf = memchr(head + at, '\n', len - at);
        struct piece line = {.s = head + at, .len = (size_t)(lf - head) - at - 1};
        int r = 0;

        if (n > FRAMING_HEADERS_MAX) {
            return problem_set(ret, PROBLEM_HEADERS_TOO_LARGE, "", "more than %u headers",
                               FRAMING_HEADERS_MAX);
        }
        r = n == 0 ? parse_request_line(line, ret) : parse_header(line, &seen, ret);
        if (r < 0) {
            return r;
        }
        at = (size_t)(lf - head) + 1;
    }
    return decide_body(f, &seen, ret);
}

int framing_head(struct framing *f, const uint8_t *data, size_t len, size_t max,
                 struct refusal *ret_refusal)
{
    size_t look = len < max ? len : max;
    int head = 0;
    int r = 0;

    /* What is not HTTP at all (a TLS hello, a binary protocol) needs no 10 s to be told so. */
    if (len > 0 && !is_token_char((char)data[0]) && data[0] != '\r' && data[0] != '\n') {
        return refuse(ret_refusal, "this is not a request of HTTP");
    }
    head = find_end(f, data, look, ret_refusal);
    if (head < 0) {
        return head;
    }
    if (head == 0) {
        return len < max ? 0
                         : problem_set(ret_refusal, PROBLEM_HEADERS_TOO_LARGE, "",
                                       "the request's head has more than %zu bytes", max);
    }
    r = parse_head(f, (const char *)data, (size_t)head - 2, ret_refusal);
    return r < 0 ? r : head;
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One byte of a CRLF: 1 when it is over, 0 when it goes on, -EINVAL. */
static int line_end(struct framing *f, uint8_t c, struct refusal *ret)
{
    if (!f->cr && c == '\r') {
        f->cr = true;
        return 0;
    }
    if (f->cr && c == '\n') {
        f->cr = false;
        return 1;
    }
    return refuse(ret, f->state == FRAMING_CHUNK_LAST
                           ? "something follows the last chunk; trailers are not taken"
                           : "a chunk does not end where its size says");
}

static int size_byte(struct framing *f, uint8_t c, struct refusal *ret)
{
    int digit = hex_digit(c);

    if (!f->cr && digit >= 0) {
        if (f->digits == 8) {
            return problem_set(ret, PROBLEM_TOO_LARGE, "", "a chunk's size is too large");
        }
        f->digits++;
        f->left = f->left * 16 + (uint64_t)digit;
        return 0;
    }
    if (f->digits == 0 || (f->cr ? c != '\n' : c != '\r')) {
        return refuse(ret, "a chunk's size is not a hexadecimal number alone on its line");
    }
    if (c == '\r') {
        f->cr = true;
        return 0;
    }
    f->cr = false;
    f->digits = 0;
    f->state = f->left > 0 ? FRAMING_CHUNK_DATA : FRAMING_CHUNK_LAST;
    return 0;
}

static int framing_byte(struct framing *f, uint8_t c, struct refusal *ret)
{
    int r = 0;

    if (f->state == FRAMING_CHUNK_SIZE) {
        return size_byte(f, c, ret);
    }
    r = line_end(f, c, ret);
    if (r == 1) {
        f->state = f->state == FRAMING_CHUNK_LAST ? FRAMING_DONE : FRAMING_CHUNK_SIZE;
        f->left = 0;
        r = 0;
    }
    return r;
}

int framing_body(struct framing *f, const uint8_t *data, size_t len, size_t *ret_used,
                 struct refusal *ret_refusal)
{
    size_t at = 0;

    while (at < len && f->state != FRAMING_DONE) {
        if (f->state == FRAMING_LENGTH || f->state == FRAMING_CHUNK_DATA) {
            size_t n = f->left < len - at ? (size_t)f->left : len - at;

            at += n;
            f->left -= n;
            if (f->left == 0) {
                f->state = f->state == FRAMING_LENGTH ? FRAMING_DONE : FRAMING_CHUNK_END;
            }
        } else {
            int r = framing_byte(f, data[at], ret_refusal);

            if (r < 0) {
                return r;
            }
            at++;
        }
    }
    *ret_used = at;
    return 0;
}
