/* digest.h - SHA-256 by nettle, which uses the CPU's SHA instructions (docs/decisions/0005). */
#pragma once

#include <nettle/sha2.h>

#include "base/base.h"
#include "base/err.h"

#define DIGEST_BYTES    32
#define DIGEST_HEX_SIZE 65 /* with the terminating NUL */

/* Lower-case hex, NUL-terminated; "" is the empty value. Written "sha256:HEX" for people. */
struct digest {
    char hex[DIGEST_HEX_SIZE];
};

void digest_of_data(const void *data, size_t len, struct digest *ret) nonnull_args(3);
/* From offset 0 to the end; the file position does not move. */
must_use int digest_of_fd(int fd, struct digest *ret, uint64_t *ret_bytes,
                          struct err *err) nonnull_all;

/* The same piece by piece: begin, update as often as needed, finish once. Owns nothing. */
struct digest_ctx {
    struct sha256_ctx sha;
};

void digest_begin(struct digest_ctx *ret) nonnull_all;
void digest_update(struct digest_ctx *ctx, const void *data, size_t len) nonnull_args(1);
void digest_finish(struct digest_ctx *ctx, struct digest *ret) nonnull_all;

/* True if s is exactly 64 lower-case hex digits. */
must_use bool digest_is_hex(const char *s) nonnull_all;
must_use bool digest_equal(const struct digest *a, const struct digest *b) nonnull_all;
