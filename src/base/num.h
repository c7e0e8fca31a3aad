/* num.h - strict number parsing for hostile text. Whole string or nothing; no sign, no blanks. */
#pragma once

#include "base/base.h"

/* Sums and differences of amounts: cut at UINT64_MAX, and at 0. */
static inline uint64_t num_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint64_t num_less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Decimal digits only. Returns 0, -EINVAL (not a number) or -ERANGE (does not fit). */
must_use int num_parse_u64(const char *s, uint64_t *ret) nonnull_all;

/* Bytes: "65536", "64K", "64M", "2G" (powers of 1024; KiB/MiB/GiB also taken). Same errors. */
must_use int num_parse_size(const char *s, uint64_t *ret_bytes) nonnull_all;

/* Time: "10s", "250ms", "2m", or plain seconds with up to 9 decimals ("1.5", "1.5s"). In ns. */
must_use int num_parse_duration(const char *s, uint64_t *ret_ns) nonnull_all;
