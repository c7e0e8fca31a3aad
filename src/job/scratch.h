/*
 * scratch.h - the empty ext4 a job writes to, made by mke2fs in a process of its own.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "job/spec.h"
#include "sys/memo.h"
#include "sys/proc.h"

struct scratch {
    int fd;           /* the device; borrowed */
    int log_fd;       /* what mke2fs prints */
    struct proc proc; /* mke2fs, while it runs; pid 0: it was not needed */
    int memo_dirfd;   /* borrowed */
    struct memo memo; /* what the filesystem depends on */
};

#define SCRATCH_INIT                                                                       \
    {                                                                                      \
        .fd = -1, .log_fd = -1, .proc = {.pidfd = -1}, .memo_dirfd = -1, .memo = MEMO_INIT \
    }
void scratch_fini(struct scratch *scratch) nonnull_all;
#define auto_scratch on_scope_exit(scratch_fini)

/* The device: an unnamed sparse file of STAGE_SCRATCH_DEVICE_BYTES, empty. The caller owns *ret_fd. */
must_use int scratch_open(int tmp_dirfd, int *ret_fd, struct err *err) nonnull_all;
/*
 * Starts mke2fs on an empty device (borrowed); it works while inputs are staged. What it wrote is
 * remembered below memo_dirfd (sys/memo.h; -1: nothing is), and written from there the next time:
 * equal sizes give equal bytes, some 40 KiB.
 */
must_use int scratch_start(const struct spec_limits *limits, int fd, int memo_dirfd,
                           struct scratch *ret, struct err *err) nonnull_all;
/* Waits for mke2fs if it runs. ERR_LIMIT/-ENOSPC if the disk is full. */
must_use int scratch_finish(struct scratch *scratch, struct err *err) nonnull_all;
