/*
 * suite-pool.h - which machines the pool holds ready for the cases of a suite.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "cli/suite-run.h"

/* One machine for each of these cases, the first ones first. */
must_use int suite_pool_plan(const struct suite_run *run, const struct suite_case *const *cases,
                             size_t n, struct err *err) nonnull_all;

/* 1: a machine for this case is on its way, and worth waiting for. 0: start it. */
must_use int suite_pool_ask(const struct suite_run *run, const struct suite_case *c,
                            struct err *err) nonnull_all;
