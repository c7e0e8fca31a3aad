/*
 * blk.h - block device (virtio 1.2, section 5.2): a file of fixed size, whole, by preadv/pwritev.
 *
 * IN, OUT (unless read-only), FLUSH and GET_ID; everything else, also discard, is answered with
 * UNSUPP. A request that lies outside the device, is no multiple of 512, has buffers of the wrong
 * kind or writes where it may not is answered with IOERR (V13), and so is a write for which the
 * host's disk is full or which RLIMIT_FSIZE refuses. One without a status byte or a whole header is
 * a broken device. If the file fails in any other way, or is shorter than it was, the monitor ends
 * (ERR_HOST). FLUSH has nothing to do: the file dies with the machine, so there is nothing that
 * could outlive the host's own end.
 */
#pragma once

#include "vmm/virtio.h"

struct blk {
    struct virtio dev; /* first: a struct virtio of ours is a struct blk */
    int fd;            /* borrowed */
    bool read_only;
    uint64_t bytes; /* of the file, fixed at the start; the rest of its last sector is zeroes */
    char id[20];    /* GET_ID; padded with NUL */
};

/* What stands behind it. */
struct blk_disk {
    int fd; /* a regular file, borrowed */
    bool read_only;
    const char *id; /* the device's serial number, at most 20 bytes */
};

/* ERR_HOST if the file is none. */
must_use int blk_init(struct blk *blk, const struct gmem *mem, unsigned int slot, int irq_fd,
                      const struct blk_disk *disk, struct err *err) nonnull_all;
