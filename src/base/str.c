#include "base/str.h"

#include <errno.h>
#include <stdio.h>

/* Length of the well-formed sequence at p, 0 if malformed; the code point in *ret_cp. */
static size_t utf8_next(const uint8_t *p, size_t len, uint32_t *ret_cp)
{
    size_t n = 0;
    uint32_t cp = 0;
    uint32_t min = 0;

    if (p[0] < 0x80) {
        *ret_cp = p[0];
        return 1;
    }
    if ((p[0] & 0xe0) == 0xc0) {
        n = 2;
        cp = p[0] & 0x1fu;
        min = 0x80;
    } else if ((p[0] & 0xf0) == 0xe0) {
        n = 3;
        cp = p[0] & 0x0fu;
        min = 0x800;
    } else if ((p[0] & 0xf8) == 0xf0) {
        n = 4;
        cp = p[0] & 0x07u;
        min = 0x10000;
    } else {
        return 0;
    }
    if (n > len) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
        cp = (cp << 6) | (p[i] & 0x3fu);
    }
    if (cp < min || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff)) {
        return 0;
    }
    *ret_cp = cp;
    return n;
}

bool str_is_utf8(const void *data, size_t len)
{
    const uint8_t *p = data;
    uint32_t cp = 0;

    for (size_t i = 0; i < len;) {
        size_t n = utf8_next(p + i, len - i, &cp);

        if (n == 0) {
            return false;
        }
        i += n;
    }
    return true;
}

/* Characters that drive a terminal or reorder what a person reads. */
static bool is_unsafe(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x200e || cp == 0x200f || cp == 0x061c ||
           (cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069);
}

int str_escape(struct buf *out, const void *data, size_t len, bool keep_newline)
{
    const uint8_t *p = data;

    for (size_t i = 0; i < len;) {
        uint32_t cp = 0;
        size_t n = utf8_next(p + i, len - i, &cp);
        bool plain = n > 0 && (!is_unsafe(cp) || (keep_newline && (cp == '\n' || cp == '\t')));
        int r = 0;

        if (plain) {
            r = buf_put(out, p + i, n);
            i += n;
        } else {
            n = n == 0 ? 1 : n;
            for (size_t k = 0; k < n && r == 0; k++) {
                r = buf_printf(out, "\\x%02x", p[i + k]);
            }
            i += n;
        }
        if (r < 0) {
            return r;
        }
    }
    return 0;
}
