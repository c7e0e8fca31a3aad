#include "sys/digest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sys/fd.h"

void digest_begin(struct digest_ctx *ret)
{
    sha256_init(&ret->sha);
}

void digest_update(struct digest_ctx *ctx, const void *data, size_t len)
{
    sha256_update(&ctx->sha, len, data);
}

void digest_finish(struct digest_ctx *ctx, struct digest *ret)
{
    uint8_t md[DIGEST_BYTES];

    sha256_digest(&ctx->sha, sizeof(md), md);
    for (size_t i = 0; i < DIGEST_BYTES; i++) {
        (void)snprintf(ret->hex + 2 * i, 3, "%02x", md[i]);
    }
}

void digest_of_data(const void *data, size_t len, struct digest *ret)
{
    struct digest_ctx ctx;

    digest_begin(&ctx);
    digest_update(&ctx, data, len);
    digest_finish(&ctx, ret);
}

int digest_of_fd(int fd, struct digest *ret, uint64_t *ret_bytes, struct err *err)
{
    struct digest_ctx ctx;
    size_t chunk = 256 * KIB;
    auto_free uint8_t *data = malloc(chunk);
    uint64_t at = 0;
    size_t got = 0;

    if (data == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    digest_begin(&ctx);
    do {
        int r = fd_pread_full(fd, data, chunk, at, &got, err);

        if (r < 0) {
            return r;
        }
        digest_update(&ctx, data, got);
        at += got;
    } while (got == chunk);
    digest_finish(&ctx, ret);
    *ret_bytes = at;
    return 0;
}

bool digest_is_hex(const char *s)
{
    return strlen(s) == 2 * (size_t)DIGEST_BYTES && strspn(s, "0123456789abcdef") == strlen(s);
}

bool digest_equal(const struct digest *a, const struct digest *b)
{
    return a->hex[0] != '\0' && strcmp(a->hex, b->hex) == 0;
}
