/*
 * scratch.h - the empty ext4 a job writes to, made by mke2fs in a process of its own.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "job/spec.h"
#include "sys/proc.h"

struct scratch {
    int log_fd;       /* what mke2fs prints */
    struct proc proc; /* mke2fs, while it runs */
};

#define SCRATCH_INIT                         \
    {                                        \
        .log_fd = -1, .proc = {.pidfd = -1 } \
    }
void scratch_fini(struct scratch *scratch) nonnull_all;
#define auto_scratch on_scope_exit(scratch_fini)

/* The device: an unnamed sparse file of STAGE_SCRATCH_DEVICE_BYTES, empty. The caller owns *ret_fd. */
must_use int scratch_open(int tmp_dirfd, int *ret_fd, struct err *err) nonnull_all;
/*
 * Takes the disk's blocks from the host, where its filesystem can: a host disk that fills later
 * would stop a running machine (QEMU pauses it) and be taken for the program's own slowness.
 * ERR_LIMIT/-ENOSPC.
 */
must_use int scratch_reserve(int fd, uint64_t disk_bytes, struct err *err) nonnull_all;
/* Starts mke2fs on an empty device (borrowed); it works while inputs are staged. */
must_use int scratch_start(const struct spec_limits *limits, int fd, struct scratch *ret,
                           struct err *err) nonnull_all;
/* Waits for mke2fs. ERR_LIMIT/-ENOSPC if the disk is full. */
must_use int scratch_finish(struct scratch *scratch, struct err *err) nonnull_all;
