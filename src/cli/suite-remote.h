/* suite-remote.h - what `airlock suite --url` must know of the daemon before it begins. */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "cli/http.h"
#include "cli/suite-report.h"

/*
 * Runs a job of one line at the daemon, and takes engine and isolation from its result. wanted:
 * "kvm", "tcg", "auto" or NULL. Fills facts->engine and facts->isolation (for good).
 */
must_use int suite_remote_engine(const struct http_config *http, const char *wanted,
                                 struct suite_facts *facts, struct err *err) nonnull_args(1, 3, 4);
