/*
 * cpio.h - writes "newc" archives, the format of an initramfs.
 *
 * Deterministic: everything belongs to root, times are 0, inode numbers count up from 1. Names
 * carry no leading '/'. Parents are written by the caller before their children.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/buf.h"

struct cpio {
    struct buf out; /* the archive so far; its max bounds it */
    uint32_t inode;
};

#define CPIO_INIT(maximum)       \
    {                            \
        .out = BUF_INIT(maximum) \
    }

void cpio_fini(struct cpio *cpio) nonnull_all;
#define auto_cpio on_scope_exit(cpio_fini)

/* Each returns 0, -ENOBUFS (over the maximum), -EFBIG (over 4 GiB) or -ENOMEM. */
must_use int cpio_dir(struct cpio *cpio, const char *name, mode_t mode) nonnull_all;
must_use int cpio_file(struct cpio *cpio, const char *name, mode_t mode, const void *data,
                       size_t len) nonnull_args(1, 2);
must_use int cpio_char_device(struct cpio *cpio, const char *name, mode_t mode, unsigned major,
                              unsigned minor) nonnull_all;
/* The end mark, padded to 512 bytes so that another archive may follow. */
must_use int cpio_end(struct cpio *cpio) nonnull_all;
