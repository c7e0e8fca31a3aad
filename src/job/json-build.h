/*
 * json-build.h - JSON of ours from checked values, for result.c and record.c.
 *
 * How it works: values are set into jansson objects with the _new forms, which take ownership and
 * report failure; a builder remembers the first failure, so that the code reads as a list.
 */
#pragma once

#include <errno.h>
#include <jansson.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/str.h"

#include "sys/digest.h"

struct builder {
    bool failed; /* out of memory */
};

static inline void set(struct builder *b, json_t *object, const char *key, json_t *value)
{
    if (value == NULL || json_object_set_new(object, key, value) < 0) {
        b->failed = true;
    }
}

static inline void append(struct builder *b, json_t *array, json_t *value)
{
    if (value == NULL || json_array_append_new(array, value) < 0) {
        b->failed = true;
    }
}

static inline json_t *integer(uint64_t v)
{
    return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

static inline json_t *text_or_null(const char *s)
{
    return s != NULL && s[0] != '\0' ? json_string(s) : json_null();
}

/* Text that may have been cut or may hold foreign bytes: never a reason to have no result. */
static inline json_t *printable(const char *s)
{
    auto_buf struct buf shown = BUF_INIT(4 * strlen(s) + 1);

    if (str_is_utf8(s, strlen(s))) {
        return json_string(s);
    }
    return str_escape(&shown, s, strlen(s), false) < 0
               ? NULL
               : json_stringn((const char *)shown.data, shown.len);
}

static inline json_t *json_base64(const uint8_t *data, size_t len)
{
    size_t size = (len + 2) / 3 * 4;
    auto_free char *text = len > INT32_MAX / 2 ? NULL : malloc(size + 1);

    if (text == NULL) {
        return NULL;
    }
    base64_encode_raw(text, len, data);
    return json_stringn(text, size);
}

static inline json_t *digest_text(const struct digest *d)
{
    char text[sizeof(d->hex) + 8];

    if (d->hex[0] == '\0') {
        return json_null();
    }
    (void)snprintf(text, sizeof(text), "sha256:%s", d->hex);
    return json_string(text);
}

static inline int json_to_buf(const char *data, size_t size, void *ctx)
{
    return buf_put(ctx, data, size) < 0 ? -1 : 0;
}

/* Takes root; 0, -ENOBUFS or -ENOMEM. One line, keys in the order they were set. */
static inline int json_finish(struct builder *b, json_t *root, struct buf *out)
{
    int r = b->failed || root == NULL ? -ENOMEM : 0;

    if (r == 0 && json_dump_callback(root, json_to_buf, out, JSON_COMPACT) < 0) {
        r = -ENOBUFS;
    }
    json_decref(root);
    return r;
}
