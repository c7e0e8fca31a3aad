/* outputs-internal.h - what the parser of the output stream and the codec of its answer share. */
#pragma once

#include "job/outputs.h"

#define OUTPUTS_COMPONENT_MAX 255u

/* Why an output is dropped. */
#define OUTPUTS_WHY_SPECIAL    "not a regular file"
#define OUTPUTS_WHY_LONG       "a name over 255 bytes"
#define OUTPUTS_WHY_TWICE      "a second entry of that name"
#define OUTPUTS_WHY_BELOW_FILE "lies below a file"
#define OUTPUTS_WHY_NO_PARENT  "lies below a directory that was not sent"

/* True if a part of the path is longer than a directory entry can be. */
bool outputs_component_too_long(const uint8_t *name, size_t len) nonnull_all;
