/*
 * home.h - STATE/daemon, the front half's own directory.
 *
 * STATE belongs to the launcher, and nothing in it is the front half's but this: so that it can get
 * there by a path, STATE lets the front half's group pass through (0710); all else in there stays
 * 0700.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

/*
 * While still privileged: makes STATE/daemon (0700, user's) and opens it; the caller owns *ret_fd.
 * state NULL = the default; user NULL: the caller's. ERR_USAGE if there is no such user, or if the
 * directory is there and another's, or open to others.
 */
must_use int home_open(const char *state, const char *user, int *ret_fd, struct err *err)
    nonnull_args(3, 4);
