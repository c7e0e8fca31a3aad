/*
 * blk.h - block device (virtio 1.2, section 5.2): a file of fixed size, whole, by preadv/pwritev.
 *
 * IN, OUT (unless read-only), FLUSH and GET_ID; everything else, also discard, is answered with
 * UNSUPP. A request that lies outside the device, is no multiple of 512 or writes where it may not is
 * answered with IOERR (V13); one without a status byte or a whole header is a broken device. So is
 * one in which the host's file fails in a way that is no full disk: short reads past the end read as
 * zeroes only inside the size that the device was made with.
 */
#pragma once

#include "vmm/virtio.h"

struct blk {
    struct virtio dev; /* first: a struct virtio of ours is a struct blk */
    int fd;            /* borrowed */
    bool read_only;
    uint64_t sectors; /* of 512 bytes, fixed at the start */
    char id[20];      /* GET_ID; padded with NUL */
};

/* id: the device's serial number, at most 20 bytes. ERR_HOST if fd has no size. */
must_use int blk_init(struct blk *blk, const struct gmem *mem, unsigned int slot, int irq_fd,
                      int fd, bool read_only, const char *id, struct err *err) nonnull_all;
