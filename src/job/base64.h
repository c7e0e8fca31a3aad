/* base64.h - RFC 4648 base64, strictly: padded, no blanks, unused bits zero. */
#pragma once

#include "base/base.h"

/*
 * Decodes len characters. *ret is the caller's, never NULL on success (one spare byte, so that
 * nothing is still something). Returns 0, -EINVAL or -ENOMEM.
 */
must_use int base64_decode(const char *text, size_t len, uint8_t **ret,
                           size_t *ret_len) nonnull_all;
