/*
 * virtq.h - split virtqueues (virtio 1.2, section 2.7), as the device sees them.
 *
 * No indirect descriptors and no event index are offered: a chain is what its descriptors in the
 * table say, each copied once and checked before it is used. A chain has at most as many descriptors
 * as the queue, of at most VIRTQ_CHAIN_BYTES together, none of them empty, readable ones first. A
 * queue that is lied to (V1 to V7) gives -EPROTO with the reason, and the caller marks its device
 * broken: it is not used again.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "vmm/gmem.h"

#define VIRTQ_SIZE_MAX    256u       /* descriptors; what every queue offers as its maximum */
#define VIRTQ_CHAIN_BYTES (16 * MIB) /* of all buffers of a chain together */
#define VIRTQ_DESC_SIZE   16u        /* bytes of a descriptor in the table */

struct virtq {
    /* As the driver set them while ready is false; checked by virtq_enable(). */
    uint16_t size;
    uint64_t desc, avail, used; /* guest physical addresses */
    bool ready;
    uint16_t next_avail; /* the next entry of the available ring that is looked at */
    uint16_t next_used;
    bool in_flight[VIRTQ_SIZE_MAX]; /* heads given out and not yet used (V5) */
};

struct virtq_buffer {
    uint64_t gpa;
    uint32_t len;
};

/* One request: out for the device to read, then in for it to write. All of it was seen to be RAM. */
struct virtq_chain {
    uint16_t head;
    uint16_t n_out, n_in;
    struct virtq_buffer buffers[VIRTQ_SIZE_MAX];
    uint64_t out_bytes, in_bytes;
};

/* Back to what it is after a reset: no size, no addresses, nothing in flight. */
void virtq_reset(struct virtq *q) nonnull_all;

/*
 * The driver says that the queue is ready: size a power of two within VIRTQ_SIZE_MAX, addresses
 * aligned (16, 2, 4), in RAM, not overlapping each other (V7, V8). ERR_GUEST if not.
 */
must_use int virtq_enable(struct virtq *q, const struct gmem *mem, struct err *err) nonnull_all;

/* True if the driver has made something available that was not popped. No word on its soundness. */
must_use bool virtq_waiting(const struct virtq *q, const struct gmem *mem) nonnull_all;

/* 1 and the next chain, 0 if there is none, or ERR_GUEST; *ret is worth something only after 1. */
must_use int virtq_pop(struct virtq *q, const struct gmem *mem, struct virtq_chain *ret,
                       struct err *err) nonnull_all;

/* Undoes the last virtq_pop(), of which nothing was used; the next one looks at it anew. */
void virtq_unpop(struct virtq *q, uint16_t head) nonnull_all;

/* Gives a chain back, with the bytes written to its in-buffers. ERR_GUEST if the ring is gone. */
must_use int virtq_push(struct virtq *q, const struct gmem *mem, uint16_t head, uint32_t written,
                        struct err *err) nonnull_all;

/* 1 if the driver wants an interrupt for what was pushed, 0 if not, or ERR_GUEST. */
must_use int virtq_wants_interrupt(const struct virtq *q, const struct gmem *mem,
                                   struct err *err) nonnull_all;

/* Copies from the out-buffers, from byte offset on, as much as is there: the bytes, or -EFAULT. */
must_use ssize_t virtq_chain_read(const struct virtq_chain *c, const struct gmem *mem,
                                  uint64_t offset, void *ret, size_t len) nonnull_all;
/* The same to the in-buffers. */
must_use ssize_t virtq_chain_write(const struct virtq_chain *c, const struct gmem *mem,
                                   uint64_t offset, const void *data, size_t len) nonnull_all;
/*
 * The in-buffers (is_in) or out-buffers, [offset, offset + len), as an array for preadv or pwritev
 * with room for VIRTQ_SIZE_MAX entries. The number of entries, or -EFAULT if there are not so many
 * bytes.
 */
must_use int virtq_chain_iov(const struct virtq_chain *c, const struct gmem *mem, bool is_in,
                             uint64_t offset, uint64_t len,
                             struct iovec ret[VIRTQ_SIZE_MAX]) nonnull_all;
