/* fuzz.h - what every fuzz target includes. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An invariant; a fuzzer takes the abort as its finding. */
static inline void fuzz_check(int holds)
{
    if (!holds) {
        abort();
    }
}

/* Reads every byte, so that a sanitizer sees a range that is not all there. */
static inline void fuzz_touch(const uint8_t *data, size_t len)
{
    volatile uint8_t sum = 0;

    for (size_t i = 0; i < len; i++) {
        sum = (uint8_t)(sum ^ data[i]);
    }
}
