/* str.h - text from strangers: validity and harmless display. */
#pragma once

#include "base/base.h"
#include "base/buf.h"

/* True if the bytes are well-formed UTF-8 (no surrogates, no overlong forms, <= U+10FFFF). */
must_use bool str_is_utf8(const void *data, size_t len) nonnull_all;

/*
 * Appends data to out for a person's eyes: printable UTF-8 as it is, control characters (C0, DEL,
 * C1), bidirectional overrides and malformed bytes as \xNN. With keep_newline "\n" and "\t" pass.
 * Returns 0 or what buf_put() returns.
 */
must_use int str_escape(struct buf *out, const void *data, size_t len,
                        bool keep_newline) nonnull_all;
