/*
 * scratch.h - the empty ext4 a job writes to, made by mke2fs in a process of its own.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "job/spec.h"
#include "sys/proc.h"

struct scratch {
    int fd;           /* the device: an unnamed sparse file; the caller may steal it */
    int log_fd;       /* what mke2fs prints */
    struct proc proc; /* mke2fs, while it runs */
};

#define SCRATCH_INIT                                   \
    {                                                  \
        .fd = -1, .log_fd = -1, .proc = {.pidfd = -1 } \
    }
void scratch_fini(struct scratch *scratch) nonnull_all;
#define auto_scratch on_scope_exit(scratch_fini)

/* Creates the device in tmp_dirfd and starts mke2fs; it works while inputs are staged. */
must_use int scratch_start(const struct spec_limits *limits, int tmp_dirfd, struct scratch *ret,
                           struct err *err) nonnull_all;
/* Waits for mke2fs. ERR_LIMIT/-ENOSPC if the disk is full. */
must_use int scratch_finish(struct scratch *scratch, struct err *err) nonnull_all;
