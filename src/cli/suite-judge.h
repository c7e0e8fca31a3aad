/*
 * suite-judge.h - does a result hold what the header of a case says? Pure; one check for each key.
 */
#pragma once

#include <jansson.h>

#include "base/base.h"
#include "base/buf.h"

#include "cli/suite-case.h"

/*
 * True if everything holds. What does not is appended to why, harmless, separated by "; ".
 * result is what `airlock run --json` printed, exit_code what it ended with.
 */
must_use bool suite_judge(const struct suite_case *c, const json_t *result, int exit_code,
                          struct buf *why) nonnull_all;
