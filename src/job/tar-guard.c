/*
 * How it works: headers are collected in blocks of 512 bytes, bodies are counted away. Bodies of pax
 * and long name headers are kept and looked through. Behind the first block of zeros only zeros may
 * follow.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "job/unpack-internal.h"

#define BLOCK      512u
#define RECORD_MAX (64 * KIB)
#define SIZE_AT    124u
#define SIZE_LEN   12u
#define SUM_AT     148u
#define SUM_LEN    8u
#define KIND_AT    156u
#define NAME_LEN   100u

void tar_guard_fini(struct tar_guard *g)
{
    free(g->record);
    g->record = NULL;
}

static const char *kind_text(uint8_t kind)
{
    switch (kind) {
    case '1':
        return "a hard link";
    case '2':
    case 'K':
        return "a symbolic link";
    case '3':
    case '4':
        return "a device";
    case '6':
        return "a FIFO";
    case 'S':
        return "a sparse file";
    default:
        return "of an unknown kind";
    }
}

static bool all_zero(const uint8_t *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (s[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Octal digits, blanks around them, as every tar writes. */
static bool parse_octal(const uint8_t *s, size_t len, uint64_t *ret)
{
    uint64_t v = 0;
    size_t i = 0;
    size_t digits = 0;

    while (i < len && s[i] == ' ') {
        i++;
    }
    for (; i < len && s[i] >= '0' && s[i] <= '7'; i++, digits++) {
        v = v << 3 | (uint64_t)(s[i] - '0'); /* 12 digits have 36 bits */
    }
    for (; i < len; i++) {
        if (s[i] != ' ' && s[i] != '\0') {
            return false;
        }
    }
    *ret = v;
    return digits > 0;
}

/* GNU's base-256: the first bit says so, the next is the sign. */
static bool parse_size(const uint8_t *s, uint64_t *ret)
{
    uint64_t v = 0;

    if ((s[0] & 0x80u) == 0) {
        return parse_octal(s, SIZE_LEN, ret);
    }
    if (s[0] != 0x80 || !all_zero(s + 1, SIZE_LEN - 9)) {
        return false; /* negative, or more than 64 bits */
    }
    for (size_t i = SIZE_LEN - 8; i < SIZE_LEN; i++) {
        v = v << 8 | s[i];
    }
    *ret = v;
    return true;
}

static bool sum_ok(const uint8_t *h)
{
    uint64_t want = 0;
    uint64_t sum = 0;
    int64_t signed_sum = 0; /* as some old ones count */

    for (size_t i = 0; i < BLOCK; i++) {
        uint8_t b = i >= SUM_AT && i < SUM_AT + SUM_LEN ? (uint8_t)' ' : h[i];

        sum += b;
        signed_sum += (int8_t)b;
    }
    return parse_octal(h + SUM_AT, SUM_LEN, &want) && (want == sum || (int64_t)want == signed_sum);
}

static int grow_record(struct tar_guard *g, uint64_t size, struct err *err)
{
    if (size > RECORD_MAX) {
        return err_usage(err, "tar: a header record of %" PRIu64 " bytes, at most %llu are taken",
                         size, RECORD_MAX);
    }
    free(g->record);
    g->record = malloc((size_t)size + 1);
    if (g->record == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory reading the archive");
    }
    g->record_len = 0;
    g->record_size = (size_t)size;
    return 0;
}

static bool is_record(uint8_t kind)
{
    return kind == 'x' || kind == 'g' || kind == 'L';
}

static int take_header(struct tar_guard *g, struct err *err)
{
    const uint8_t *h = g->block;
    uint8_t kind = h[KIND_AT];
    uint64_t size = 0;

    if (all_zero(h, BLOCK)) {
        g->state = TAR_END;
        return 0;
    }
    if (!sum_ok(h)) {
        return err_usage(err, "tar: the checksum of a header is wrong; the file is damaged or not "
                              "a tar");
    }
    if (!g->named) {
        g->name = text_of(h, strnlen((const char *)h, NAME_LEN));
    }
    if (kind != '0' && kind != '\0' && kind != '5' && !is_record(kind)) {
        return err_usage(err, "entry '%s' is %s; only regular files and directories are taken",
                         g->name.s, kind_text(kind));
    }
    if (!parse_size(h + SIZE_AT, &size) || size > INT64_MAX - BLOCK) {
        return err_usage(err, "entry '%s': its size is not a number that can be", g->name.s);
    }
    if (kind == '5' && size != 0) {
        return err_usage(err, "entry '%s' is a directory with data", g->name.s);
    }
    if (is_record(kind)) {
        int r = grow_record(g, size, err);

        if (r < 0) {
            return r;
        }
    } else if (size > g->max_size) {
        return err_usage(
            err, "entry '%s' has %" PRIu64 " bytes, more than the %" PRIu64 " there may be in all",
            g->name.s, size, g->max_size);
    }
    g->kind = kind;
    g->named = g->named && is_record(kind);
    g->left = (size + BLOCK - 1) / BLOCK * BLOCK;
    g->state = g->left > 0 ? TAR_BODY : TAR_HEADER;
    return 0;
}

static bool has_prefix(const uint8_t *s, size_t len, const char *prefix)
{
    size_t n = strlen(prefix);

    return len >= n && memcmp(s, prefix, n) == 0;
}

/* Keys that change what the header after them says in ways not followed here. */
static bool key_refused(const uint8_t *key, size_t len)
{
    static const char *const whole[] = {"size", "linkpath", "hdrcharset"};

    for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
        if (len == strlen(whole[i]) && memcmp(key, whole[i], len) == 0) {
            return true;
        }
    }
    return has_prefix(key, len, "GNU.sparse.") || has_prefix(key, len, "SCHILY.realsize") ||
           has_prefix(key, len, "SUN.");
}

static int take_pax_record(struct tar_guard *g, const uint8_t *s, size_t len, struct err *err)
{
    const uint8_t *equals = memchr(s, '=', len);
    size_t key_len = equals == NULL ? 0 : (size_t)(equals - s);
    const uint8_t *value = s + key_len + 1;
    size_t value_len = 0;

    if (key_len == 0 || memchr(s, '\0', key_len) != NULL) {
        return err_usage(err, "tar: a pax record without a key");
    }
    if (key_refused(s, key_len)) {
        return err_usage(err, "tar: a pax record '%s', which is not taken", text_of(s, key_len).s);
    }
    value_len = len - key_len - 1;
    if (memchr(value, '\0', value_len) != NULL && !has_prefix(s, key_len, "SCHILY.xattr.")) {
        return err_usage(err, "tar: a pax record '%s' with a NUL in it", text_of(s, key_len).s);
    }
    if (key_len == 4 && memcmp(s, "path", 4) == 0) {
        g->name = text_of(value, value_len);
        g->named = true;
    }
    return 0;
}

/* POSIX pax: "LENGTH KEY=VALUE\n", where LENGTH counts itself. */
static int take_pax(struct tar_guard *g, struct err *err)
{
    size_t at = 0;

    while (at < g->record_len) {
        const uint8_t *s = g->record + at;
        size_t left = g->record_len - at;
        size_t len = 0;
        size_t i = 0;
        int r = 0;

        for (; i < left && i < 6 && s[i] >= '0' && s[i] <= '9'; i++) {
            len = 10 * len + (size_t)(s[i] - '0');
        }
        if (i == 0 || i == left || s[i] != ' ' || s[0] == '0' || len > left || len < i + 4 ||
            s[len - 1] != '\n') {
            return err_usage(err, "tar: the length of a pax record is wrong");
        }
        r = take_pax_record(g, s + i + 1, len - i - 2, err);
        if (r < 0) {
            return r;
        }
        at += len;
    }
    return 0;
}

static int take_long_name(struct tar_guard *g, struct err *err)
{
    size_t len = strnlen((const char *)g->record, g->record_len);

    if (len == 0 || len > UNPACK_PATH_MAX || !all_zero(g->record + len, g->record_len - len)) {
        return err_usage(err, "tar: a long name of %zu bytes; there may be 1 to %u and no NUL", len,
                         UNPACK_PATH_MAX);
    }
    g->name = text_of(g->record, len);
    g->named = true;
    return 0;
}

/* The record is complete. */
static int take_record(struct tar_guard *g, struct err *err)
{
    if (!is_record(g->kind)) {
        return 0;
    }
    g->record[g->record_len] = '\0';
    return g->kind == 'L' ? take_long_name(g, err) : take_pax(g, err);
}

static size_t take_body(struct tar_guard *g, const uint8_t *data, size_t len)
{
    size_t n = g->left < len ? (size_t)g->left : len;

    if (is_record(g->kind)) {
        size_t room = g->record_size - g->record_len;
        size_t keep = n < room ? n : room;

        memcpy(g->record + g->record_len, data, keep);
        g->record_len += keep;
    }
    g->left -= n;
    return n;
}

int tar_guard_feed(struct tar_guard *g, const uint8_t *data, size_t len, struct err *err)
{
    size_t at = 0;
    int r = 0;

    while (at < len && r == 0) {
        if (g->state == TAR_END) {
            return all_zero(data + at, len - at) ? 0
                                                 : err_usage(err, "tar: something follows its end");
        }
        if (g->state == TAR_HEADER) {
            size_t n = BLOCK - g->have < len - at ? BLOCK - g->have : len - at;

            memcpy(g->block + g->have, data + at, n);
            g->have += n;
            at += n;
            if (g->have == BLOCK) {
                g->have = 0;
                r = take_header(g, err);
            }
            continue;
        }
        at += take_body(g, data + at, len - at);
        if (g->left == 0) {
            g->state = TAR_HEADER;
            r = take_record(g, err);
        }
    }
    return r;
}

int tar_guard_finish(const struct tar_guard *g, struct err *err)
{
    if (g->state == TAR_BODY || (g->state == TAR_HEADER && (g->have > 0 || g->named))) {
        return err_usage(err, "tar: it ends inside of entry '%s'; the file is cut short",
                         g->name.s);
    }
    return 0;
}
