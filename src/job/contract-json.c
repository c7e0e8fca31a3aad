/*
 * How it works: the whole document is in memory, at most CONTRACT_JSON_BYTES, and is walked once by
 * a small state machine with a stack of open brackets; no tree is built. Keys of open objects are
 * kept decoded, so that "a" and "\u0061" are seen as the same, and compared when the object closes.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/sort.h"
#include "base/str.h"

#include "job/contract-internal.h"

enum state {
    WANT_VALUE,
    WANT_VALUE_OR_END, /* behind '[' */
    WANT_KEY,
    WANT_KEY_OR_END, /* behind '{' */
    WANT_NEXT,       /* behind a value */
};

struct key {
    size_t at; /* in the arena */
    size_t len;
};

struct level {
    bool is_object;
    size_t first_key;
    size_t arena_len;
};

struct json {
    struct contract_file *f;
    const uint8_t *s;
    size_t len;
    size_t at;
    struct level levels[CONTRACT_JSON_DEPTH];
    size_t depth;
    struct key *keys; /* of all open objects */
    size_t n_keys;
    size_t cap_keys;
    struct buf arena; /* their bytes */
    struct buf *into; /* where the string being read goes, or NULL */
};

static void json_fini(struct json *j)
{
    free(j->keys);
    buf_fini(&j->arena);
}

static int fail(struct json *j, const char *rule, const char *what)
{
    size_t line = 1;
    size_t start = 0;

    for (size_t i = 0; i < j->at && i < j->len; i++) {
        if (j->s[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    return contract_fail(j->f, rule, "JSON, line %zu, byte %zu: %s", line, j->at - start + 1, what);
}

static int no_memory(struct json *j)
{
    return err_set(j->f->err, ERR_HOST, ENOMEM, "out of memory checking the contract");
}

static bool at_end(const struct json *j)
{
    return j->at >= j->len;
}

static void skip_blanks(struct json *j)
{
    while (!at_end(j) && (j->s[j->at] == ' ' || j->s[j->at] == '\t' || j->s[j->at] == '\r' ||
                          j->s[j->at] == '\n')) {
        j->at++;
    }
}

static int put(struct json *j, const void *data, size_t len)
{
    return j->into == NULL || buf_put(j->into, data, len) == 0 ? 0 : no_memory(j);
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits behind "\u". */
static int take_unit(struct json *j, uint32_t *ret)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++, j->at++) {
        int digit = at_end(j) ? -1 : hex_digit(j->s[j->at]);

        if (digit < 0) {
            return fail(j, RULE_SYNTAX, "\\u needs four hexadecimal digits");
        }
        v = v << 4 | (uint32_t)digit;
    }
    *ret = v;
    return 0;
}

static int put_utf8(struct json *j, uint32_t v)
{
    uint8_t out[4];
    size_t n = v < 0x80 ? 1 : v < 0x800 ? 2 : v < 0x10000 ? 3 : 4;

    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = n; i-- > 1; v >>= 6) {
        out[i] = (uint8_t)(0x80u | (v & 0x3fu));
    }
    out[0] = (uint8_t)(lead[n] | v);
    return put(j, out, n);
}

static int take_unicode(struct json *j)
{
    uint32_t v = 0;
    uint32_t low = 0;
    int r = take_unit(j, &v);

    if (r < 0) {
        return r;
    }
    if (v >= 0xd800 && v < 0xdc00 && j->len - j->at >= 2 && j->s[j->at] == '\\' &&
        j->s[j->at + 1] == 'u') {
        j->at += 2;
        r = take_unit(j, &low);
        if (r < 0) {
            return r;
        }
        if (low < 0xdc00 || low >= 0xe000) {
            return fail(j, RULE_ENCODING, "half of a surrogate pair");
        }
        return put_utf8(j, 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00));
    }
    if (v >= 0xd800 && v < 0xe000) {
        return fail(j, RULE_ENCODING, "half of a surrogate pair");
    }
    return put_utf8(j, v);
}

static int take_escape(struct json *j)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const char *found = at_end(j) ? NULL : memchr(from, j->s[j->at], sizeof(from) - 1);

    if (!at_end(j) && j->s[j->at] == 'u') {
        j->at++;
        return take_unicode(j);
    }
    if (found == NULL) {
        return fail(j, RULE_SYNTAX, "no such escape");
    }
    j->at++;
    return put(j, &to[found - from], 1);
}

/* At the opening quote. */
static int take_string(struct json *j)
{
    int r = 0;

    j->at++;
    while (r == 0) {
        size_t start = j->at;

        while (!at_end(j) && j->s[j->at] >= 0x20 && j->s[j->at] != '"' && j->s[j->at] != '\\') {
            j->at++;
        }
        r = put(j, j->s + start, j->at - start);
        if (r < 0) {
            return r;
        }
        if (at_end(j)) {
            return fail(j, RULE_SYNTAX, "the document ends inside a string");
        }
        if (j->s[j->at] == '"') {
            j->at++;
            return 0;
        }
        if (j->s[j->at] != '\\') {
            return fail(j, RULE_SYNTAX, "a control character inside a string");
        }
        j->at++;
        r = take_escape(j);
    }
    return r;
}

static size_t skip_digits(struct json *j)
{
    size_t start = j->at;

    while (!at_end(j) && j->s[j->at] >= '0' && j->s[j->at] <= '9') {
        j->at++;
    }
    return j->at - start;
}

static bool skip_one(struct json *j, const char *of)
{
    bool is = !at_end(j) && j->s[j->at] != '\0' && strchr(of, j->s[j->at]) != NULL;

    j->at += is ? 1 : 0;
    return is;
}

static int take_number(struct json *j)
{
    bool ok = true;

    (void)skip_one(j, "-");
    ok = skip_one(j, "0") || skip_digits(j) > 0;
    if (ok && skip_one(j, ".")) {
        ok = skip_digits(j) > 0;
    }
    if (ok && skip_one(j, "eE")) {
        (void)skip_one(j, "+-");
        ok = skip_digits(j) > 0;
    }
    return ok ? 0 : fail(j, RULE_SYNTAX, "not a number");
}

static int take_word(struct json *j)
{
    static const char *const words[] = {"true", "false", "null"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        size_t n = strlen(words[i]);

        if (j->len - j->at >= n && memcmp(j->s + j->at, words[i], n) == 0) {
            j->at += n;
            return 0;
        }
    }
    return fail(j, RULE_SYNTAX, "no value of JSON begins so");
}

static int open_level(struct json *j, bool is_object)
{
    if (j->depth == CONTRACT_JSON_DEPTH) {
        return fail(j, RULE_DEPTH, "more than 64 levels of objects and arrays");
    }
    j->levels[j->depth++] =
        (struct level){.is_object = is_object, .first_key = j->n_keys, .arena_len = j->arena.len};
    j->at++;
    return 0;
}

static int take_key(struct json *j)
{
    struct key key = {.at = j->arena.len};
    int r = 0;

    if (at_end(j) || j->s[j->at] != '"') {
        return fail(j, RULE_SYNTAX, "a key is wanted here");
    }
    j->into = &j->arena;
    r = take_string(j);
    j->into = NULL;
    if (r < 0) {
        return r;
    }
    key.len = j->arena.len - key.at;
    if (j->n_keys == j->cap_keys) {
        size_t cap = j->cap_keys == 0 ? 64 : 2 * j->cap_keys;
        struct key *grown = reallocarray(j->keys, cap, sizeof(*grown));

        if (grown == NULL) {
            return no_memory(j);
        }
        j->keys = grown;
        j->cap_keys = cap;
    }
    j->keys[j->n_keys++] = key;
    skip_blanks(j);
    return skip_one(j, ":") ? 0 : fail(j, RULE_SYNTAX, "a ':' is wanted here");
}

static int compare_keys(const void *a, const void *b, void *arena)
{
    const struct key *x = a;
    const struct key *y = b;
    const uint8_t *bytes = arena;
    size_t n = x->len < y->len ? x->len : y->len;
    int c = n == 0 ? 0 : memcmp(bytes + x->at, bytes + y->at, n);

    return c != 0 ? c : (x->len > y->len) - (x->len < y->len);
}

static int close_level(struct json *j)
{
    const struct level *level = &j->levels[j->depth - 1];
    size_t n = j->n_keys - level->first_key;
    struct key *keys = n > 0 ? j->keys + level->first_key : NULL;

    if (n > 1) {
        sort_array(keys, n, sizeof(*keys), compare_keys, j->arena.data);
    }
    for (size_t i = 1; i < n; i++) {
        if (compare_keys(&keys[i - 1], &keys[i], j->arena.data) == 0) {
            return fail(j, RULE_DUPLICATE, "the object that ends here has one key twice");
        }
    }
    j->n_keys = level->first_key;
    j->arena.len = level->arena_len;
    j->depth--;
    j->at++;
    return 0;
}

/* A value; *state is what is wanted behind it. */
static int take_value(struct json *j, enum state *state)
{
    uint8_t c = j->s[j->at];

    *state = WANT_NEXT;
    if (c == '{' || c == '[') {
        *state = c == '{' ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
        return open_level(j, c == '{');
    }
    if (c == '"') {
        return take_string(j);
    }
    return c == '-' || (c >= '0' && c <= '9') ? take_number(j) : take_word(j);
}

/* Behind a value: a comma or the closing bracket of the innermost level. */
static int take_next(struct json *j, enum state *state)
{
    bool is_object = j->levels[j->depth - 1].is_object;

    if (skip_one(j, ",")) {
        *state = is_object ? WANT_KEY : WANT_VALUE;
        return 0;
    }
    if (j->s[j->at] != (is_object ? '}' : ']')) {
        return fail(j, RULE_SYNTAX,
                    is_object ? "',' or '}' is wanted here" : "',' or ']' is wanted here");
    }
    return close_level(j);
}

static int take_one(struct json *j, enum state *state)
{
    uint8_t c = j->s[j->at];

    if ((*state == WANT_KEY_OR_END && c == '}') || (*state == WANT_VALUE_OR_END && c == ']')) {
        *state = WANT_NEXT;
        return close_level(j);
    }
    if (*state == WANT_KEY || *state == WANT_KEY_OR_END) {
        *state = WANT_VALUE;
        return take_key(j);
    }
    return *state == WANT_NEXT ? take_next(j, state) : take_value(j, state);
}

static int check_document(struct json *j)
{
    enum state state = WANT_VALUE;
    int r = 0;

    if (!str_is_utf8(j->s, j->len)) {
        return contract_fail(j->f, RULE_ENCODING, "JSON: it is not UTF-8");
    }
    while (r == 0) {
        skip_blanks(j);
        if (state == WANT_NEXT && j->depth == 0) {
            break;
        }
        r = at_end(j) ? fail(j, RULE_SYNTAX, "the document ends too early") : take_one(j, &state);
    }
    return r == 0 && !at_end(j) ? fail(j, RULE_SYNTAX, "something follows the one document") : r;
}

int contract_json(struct contract_file *f)
{
    auto_free uint8_t *text = NULL;
    on_scope_exit(json_fini) struct json j = {.f = f, .arena = BUF_INIT(CONTRACT_JSON_BYTES)};
    int r = 0;

    if (f->item->bytes > CONTRACT_JSON_BYTES) {
        return contract_fail(f, RULE_SIZE, "JSON of %" PRIu64 " bytes, at most %llu are checked",
                             f->item->bytes, CONTRACT_JSON_BYTES);
    }
    text = malloc((size_t)f->item->bytes + 1);
    if (text == NULL) {
        return no_memory(&j);
    }
    r = contract_read(f, 0, text, (size_t)f->item->bytes, &j.len);
    if (r < 0) {
        return r;
    }
    j.s = text;
    return check_document(&j);
}
