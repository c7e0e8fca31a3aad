/* result-internal.h - what results and records have in common. */
#pragma once

#include <jansson.h>

#include "job/json-build.h"
#include "job/result.h"

/* Sets limits, phases, peaks, machine and cleanup: no data of the user is in them. */
void result_set_evidence(struct builder *b, json_t *root, const struct result *r) nonnull_all;
