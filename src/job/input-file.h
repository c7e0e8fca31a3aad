/*
 * input-file.h - a file of the caller that may become an input: what is opened, and what is not.
 *
 * Regular files alone, never through a link, none that is setuid or setgid, none that a stranger can
 * write or got a name from; and none that changes while it is read.
 */
#pragma once

#include <sys/stat.h>

#include "base/base.h"
#include "base/err.h"

/* For reading. The caller owns *ret_fd; *ret_stat is for input_unchanged(). ERR_USAGE names path. */
must_use int input_open(const char *path, struct stat *ret_stat, int *ret_fd,
                        struct err *err) nonnull_all;
/* After the last byte: ERR_USAGE if it is not the file any more that was opened. */
must_use int input_unchanged(int fd, const struct stat *before, const char *path,
                             struct err *err) nonnull_all;
