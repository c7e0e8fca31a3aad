#include "sys/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "sys/fd.h"

static void ctx_free_p(EVP_MD_CTX **ctx)
{
    EVP_MD_CTX_free(*ctx);
}

static int start(EVP_MD_CTX **ret, struct err *err)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();

    if (ctx == NULL || EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(ctx);
        return err_set(err, ERR_HOST, ENOMEM, "libcrypto offers no SHA-256");
    }
    *ret = ctx;
    return 0;
}

static int finish(EVP_MD_CTX *ctx, struct digest *ret, struct err *err)
{
    unsigned char md[EVP_MAX_MD_SIZE];
    unsigned int len = 0;

    if (EVP_DigestFinal_ex(ctx, md, &len) != 1 || len != DIGEST_BYTES) {
        return err_set(err, ERR_HOST, EIO, "libcrypto's SHA-256 failed");
    }
    for (size_t i = 0; i < DIGEST_BYTES; i++) {
        (void)snprintf(ret->hex + 2 * i, 3, "%02x", md[i]);
    }
    return 0;
}

int digest_of_data(const void *data, size_t len, struct digest *ret, struct err *err)
{
    __attribute__((cleanup(ctx_free_p))) EVP_MD_CTX *ctx = NULL;
    int r = start(&ctx, err);

    if (r < 0) {
        return r;
    }
    if (len > 0 && EVP_DigestUpdate(ctx, data, len) != 1) {
        return err_set(err, ERR_HOST, EIO, "libcrypto's SHA-256 failed");
    }
    return finish(ctx, ret, err);
}

int digest_of_fd(int fd, struct digest *ret, uint64_t *ret_bytes, struct err *err)
{
    __attribute__((cleanup(ctx_free_p))) EVP_MD_CTX *ctx = NULL;
    size_t chunk = 256 * KIB;
    auto_free uint8_t *data = malloc(chunk);
    uint64_t at = 0;
    int r = 0;

    if (data == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    r = start(&ctx, err);
    if (r < 0) {
        return r;
    }
    for (;;) {
        size_t got = 0;

        r = fd_pread_full(fd, data, chunk, at, &got, err);
        if (r < 0) {
            return r;
        }
        if (got > 0 && EVP_DigestUpdate(ctx, data, got) != 1) {
            return err_set(err, ERR_HOST, EIO, "libcrypto's SHA-256 failed");
        }
        at += got;
        if (got < chunk) {
            break;
        }
    }
    *ret_bytes = at;
    return finish(ctx, ret, err);
}

int digest_begin(struct digest_ctx *ret, struct err *err)
{
    EVP_MD_CTX *evp = NULL;
    int r = start(&evp, err);

    if (r == 0) {
        ret->evp = evp;
    }
    return r;
}

int digest_update(struct digest_ctx *ctx, const void *data, size_t len, struct err *err)
{
    if (len > 0 && EVP_DigestUpdate(ctx->evp, data, len) != 1) {
        return err_set(err, ERR_HOST, EIO, "libcrypto's SHA-256 failed");
    }
    return 0;
}

int digest_finish(struct digest_ctx *ctx, struct digest *ret, struct err *err)
{
    return finish(ctx->evp, ret, err);
}

void digest_ctx_fini(struct digest_ctx *ctx)
{
    EVP_MD_CTX_free(ctx->evp);
    ctx->evp = NULL;
}

bool digest_is_hex(const char *s)
{
    return strlen(s) == 2 * (size_t)DIGEST_BYTES && strspn(s, "0123456789abcdef") == strlen(s);
}

bool digest_equal(const struct digest *a, const struct digest *b)
{
    return a->hex[0] != '\0' && strcmp(a->hex, b->hex) == 0;
}
