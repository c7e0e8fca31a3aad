/* text.h - names and values from strangers, made harmless and short for a message. */
#pragma once

#include "base/base.h"

#define TEXT_MAX 200u

struct text {
    char s[TEXT_MAX + 4]; /* NUL-terminated; ends in "..." if it was cut */
};

/* Escaped as by str_escape(), cut to TEXT_MAX bytes. Usable as an argument: text_of(p, n).s */
struct text text_of(const void *data, size_t len) nonnull_all;
struct text text_of_str(const char *s) nonnull_all;
