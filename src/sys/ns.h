/*
 * ns.h - namespaces and mounts, one call each.
 *
 * All but ns_clone()'s caller side and ns_write_maps() may run in a child between clone and exec:
 * they allocate nothing, log nothing and return 0 or -errno.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

/*
 * clone3(2) used like fork(): flags are CLONE_NEW* only, SIGCHLD and CLONE_PIDFD are added, and
 * with cgroup_fd >= 0 (a v2 cgroup's directory) the child is born in it. Returns the pid (and the
 * owner of *ret_pidfd, O_CLOEXEC) to the caller, 0 in the child, or -errno. The calling process
 * must have one thread.
 */
must_use pid_t ns_clone(uint64_t flags, int cgroup_fd, int *ret_pidfd) nonnull_all;

/* Maps exactly uid and gid, each to itself, in pid's new user namespace; setgroups is denied. */
must_use int ns_write_maps(pid_t pid, uid_t uid, gid_t gid, struct err *err) nonnull_all;

/* No mount made from here on, here or outside, reaches the other side. */
must_use int ns_make_private(void);

/* A new, empty, detached tmpfs that holds no file data; *ret_fd is its root. */
must_use int ns_tmpfs(unsigned inodes, int *ret_fd) nonnull_all;

/* Puts a detached mount on top of "/", where nothing but its own descriptor can reach it yet. */
must_use int ns_cover_root(int tree_fd);

/*
 * A detached copy of the single mount at path (a file; symbolic links are followed), with
 * MOUNT_ATTR_* attr set in addition. The caller owns *ret_fd (O_PATH).
 */
must_use int ns_bind_open(const char *path, uint64_t attr, int *ret_fd) nonnull_all;

/* Makes an empty file (and directories, 0555) at target below root_fd and mounts tree_fd there. */
must_use int ns_bind_place(int tree_fd, int root_fd, const char *target) nonnull_all;

/* root_fd becomes "/" and the working directory; everything that was there before is gone. */
must_use int ns_pivot(int root_fd);

/* Sets attr on the mount at "/" alone. */
must_use int ns_root_attr(uint64_t attr);
