/* result-read.h - the times of a result (result.h) that came as JSON from another process. */
#pragma once

#include <jansson.h>

#include "base/base.h"

/* A phase by its name in the contract, ns since submission; 0: never reached, or not there. */
static inline uint64_t result_read_phase(const json_t *result, const char *name)
{
    json_int_t v = json_integer_value(json_object_get(json_object_get(result, "phases"), name));

    return v > 0 ? (uint64_t)v : 0;
}

/* From one phase to a later one; 0 unless both were reached in this order. */
static inline uint64_t result_read_span(uint64_t from_ns, uint64_t to_ns)
{
    return from_ns != 0 && to_ns > from_ns ? to_ns - from_ns : 0;
}
