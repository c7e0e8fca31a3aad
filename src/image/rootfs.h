/*
 * rootfs.h - turns unpacked Debian packages into a root file system for a guest: does what the
 * maintainer scripts would have done that matters here, and removes what a guest never reads.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

/*
 * root_fd: the unpacked tree, owned by the caller's uid. Names in it come from packages that apt
 * verified; still no link in it is followed.
 */
must_use int rootfs_prune(int root_fd, struct err *err) nonnull_all;
must_use int rootfs_complete(int root_fd, struct err *err) nonnull_all;
/* Clears set-id bits and write permission of group and others; removes anything but files, links
 * and directories. */
must_use int rootfs_normalize(int root_fd, struct err *err) nonnull_all;
