/* file.h - small files of the kernel's: sysfs, cgroupfs, procfs. dirfd may be AT_FDCWD. */
#pragma once

#include "base/base.h"
#include "base/err.h"

/* Writes text in one write. ERR_HOST names the path. */
must_use int file_write(int dirfd, const char *path, const char *text, struct err *err) nonnull_all;

/* Reads up to size - 1 bytes, NUL-terminated, a trailing newline cut. */
must_use int file_read(int dirfd, const char *path, char *ret, size_t size,
                       struct err *err) nonnull_all;

/* The same with an open file, from its beginning; path is for the error. */
must_use int file_write_fd(int fd, const char *path, const char *text, struct err *err) nonnull_all;
must_use int file_read_fd(int fd, const char *path, char *ret, size_t size,
                          struct err *err) nonnull_all;

/* The number behind "KEY " at the start of a line ("oom_kill 3"), or 0 without such a line. */
must_use uint64_t file_key_u64(const char *text, const char *key) nonnull_all;
