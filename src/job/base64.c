#include "job/base64.h"

#include <errno.h>

/* 0..63, or -1. */
static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    if (c == '+') {
        return 62;
    }
    return c == '/' ? 63 : -1;
}

int base64_decode(const char *text, size_t len, uint8_t **ret, size_t *ret_len)
{
    auto_free uint8_t *out = NULL;
    size_t chars = len;
    size_t n = 0;
    uint32_t bits = 0;
    unsigned int held = 0;

    if (len % 4 != 0) {
        return -EINVAL;
    }
    while (chars > 0 && len - chars < 2 && text[chars - 1] == '=') {
        chars--;
    }
    out = malloc(len / 4 * 3 + 1);
    if (out == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < chars; i++) {
        int v = value_of(text[i]);

        if (v < 0) {
            return -EINVAL;
        }
        bits = (bits << 6) | (uint32_t)v;
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[n++] = (uint8_t)(bits >> held);
            bits &= (1u << held) - 1;
        }
    }
    if (bits != 0) {
        return -EINVAL;
    }
    *ret = STEAL_PTR(&out);
    *ret_len = n;
    return 0;
}
