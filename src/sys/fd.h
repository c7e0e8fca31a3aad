/* fd.h - file descriptors with an owner. -1 is the empty value; O_CLOEXEC at birth. */
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

void fd_close_p(int *fd) nonnull_all;
#define auto_fd on_scope_exit(fd_close_p)

/* The same for a directory that is being listed; NULL is the empty value. */
void fd_closedir_p(DIR **dir) nonnull_all;
#define auto_dir    on_scope_exit(fd_closedir_p)
#define STEAL_FD(p) STEAL((p), -1)

/*
 * Opens path relative to dirfd (AT_FDCWD allowed) with openat2: never through a symbolic or magic
 * link in any component. O_CLOEXEC is added. The caller owns *ret_fd.
 */
must_use int fd_open_nolink(int dirfd, const char *path, int flags, mode_t mode, int *ret_fd,
                            struct err *err) nonnull_all;

/* Plain openat() for paths the operator chose (links allowed). O_CLOEXEC is added. */
must_use int fd_open(int dirfd, const char *path, int flags, mode_t mode, int *ret_fd,
                     struct err *err) nonnull_all;

/* An unnamed file in directory dirfd (O_TMPFILE, mode 0600), read-write. */
must_use int fd_open_tmp(int dirfd, int *ret_fd, struct err *err) nonnull_all;

/* The same file opened anew with other flags (O_RDONLY after writing), also an unnamed one. */
must_use int fd_reopen(int fd, int flags, int *ret_fd, struct err *err) nonnull_all;

/* Reads until len bytes or end of file; short count only at end of file. EINTR is handled. */
must_use int fd_read_full(int fd, void *data, size_t len, size_t *ret_len,
                          struct err *err) nonnull_all;
/* The same at an offset. */
must_use int fd_pread_full(int fd, void *data, size_t len, uint64_t offset, size_t *ret_len,
                           struct err *err) nonnull_all;
must_use int fd_write_full(int fd, const void *data, size_t len, struct err *err) nonnull_all;

/* Appends the whole file to buf; over buf->max is ERR_LIMIT/-EFBIG. what names it in messages. */
must_use int fd_read_all(int fd, const char *what, struct buf *buf, struct err *err) nonnull_all;

/* Copies up to max bytes from in to out; more than max is ERR_LIMIT/-EFBIG. */
must_use int fd_copy(int in, int out, uint64_t max, uint64_t *ret_bytes,
                     struct err *err) nonnull_all;

/* Closes every descriptor but 0-2 and those named; -1 among them means nothing. */
void fd_keep_only(const int *keep, size_t n) nonnull_all;

must_use int fd_set_nonblock(int fd, struct err *err) nonnull_all;

/*
 * One message on a Unix socket, with a descriptor attached unless fd is -1. flags as for sendmsg();
 * MSG_NOSIGNAL is added. Bytes sent or -errno. Async-signal-safe.
 */
ssize_t fd_send(int sock, const void *data, size_t len, int fd, int flags) nonnull_all;

/*
 * Waits for one message of exactly len bytes as fd_send() sent it. 1, and *ret_fd is its descriptor
 * (owned, O_CLOEXEC) or -1; 0 at the end of file. Another length, or more than one descriptor, is
 * ERR_HOST/-EPROTO.
 */
must_use int fd_receive(int sock, void *data, size_t len, int *ret_fd, struct err *err) nonnull_all;

/* Creates path and missing parents (operator's path), mode 0755 & ~umask. Existing is fine. */
must_use int fd_mkdir_parents(const char *path, struct err *err) nonnull_all;

/*
 * Writes data to dirfd/name atomically: temporary file, fsync, rename, fsync of the directory.
 * name is a plain name without '/'.
 */
must_use int fd_write_atomic(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
                             struct err *err) nonnull_all;

/*
 * Removes dirfd/name and everything below, never following links or crossing mounts, with a
 * bounded number of open fds whatever the depth. Missing is fine.
 */
must_use int fd_remove_tree(int dirfd, const char *name, struct err *err) nonnull_all;
