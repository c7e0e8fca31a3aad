/*
 * driver.h - a guest's driver for unit tests of devices: memory, rings, requests, by hand.
 *
 * Each queue has its rings at driver_ring(q): descriptor table, available ring, used ring, a page
 * each. Data goes anywhere from DRIVER_DATA on. Nothing here checks what it writes: a test lies as
 * it likes.
 */
#pragma once

#include "vmm/virtio.h"

#define DRIVER_MEMORY (32 * MIB)
#define DRIVER_SIZE   16u       /* descriptors of each queue */
#define DRIVER_DATA   0x100000u /* free for the test */

/* Status up to a step (virtio 1.2, 2.1). */
#define DRIVER_ACKNOWLEDGED 1u
#define DRIVER_KNOWN        3u
#define DRIVER_FEATURES     0xbu
#define DRIVER_RUNS         0xfu
#define DRIVER_NEEDS_RESET  0x40u

#define DESC_NEXT     1u
#define DESC_WRITE    2u
#define DESC_INDIRECT 4u

/* Registers that tests name. */
enum {
    R_DEVICE_FEATURES = 0x10,
    R_DEVICE_FEATURES_SEL = 0x14,
    R_DRIVER_FEATURES = 0x20,
    R_DRIVER_FEATURES_SEL = 0x24,
    R_QUEUE_SEL = 0x30,
    R_QUEUE_NUM_MAX = 0x34,
    R_QUEUE_NUM = 0x38,
    R_QUEUE_READY = 0x44,
    R_QUEUE_NOTIFY = 0x50,
    R_INTERRUPT_STATUS = 0x60,
    R_INTERRUPT_ACK = 0x64,
    R_STATUS = 0x70,
    R_DESC_LOW = 0x80,
    R_DESC_HIGH = 0x84,
    R_AVAIL_LOW = 0x90,
    R_AVAIL_HIGH = 0x94,
    R_USED_LOW = 0xa0,
    R_USED_HIGH = 0xa4,
    R_SHM_LEN_LOW = 0xb0,
    R_CONFIG = 0x100,
};

struct driver {
    struct gmem mem;
    struct virtio *dev;
    int irq_fd;                                                 /* owned */
    uint16_t avail[VIRTIO_QUEUES_MAX], used[VIRTIO_QUEUES_MAX]; /* indices as the driver has them */
};

struct driver_desc {
    uint64_t gpa;
    uint32_t len;
    uint16_t flags, next;
};

/* Memory and an eventfd; fails the case if there are none. driver_fini() releases them. */
void driver_init(struct driver *d) nonnull_all;
void driver_fini(struct driver *d) nonnull_all;

/* Takes all features, or those of mask, sets up every queue of dev, and says DRIVER_OK. */
void driver_start(struct driver *d, struct virtio *dev, uint64_t mask) nonnull_all;
/* Up to FEATURES_OK; the rings of one queue, without QueueReady. */
void driver_features(struct driver *d, struct virtio *dev, uint64_t mask) nonnull_all;
void driver_rings(struct driver *d, unsigned int q) nonnull_all;

uint32_t driver_get(struct driver *d, uint64_t reg) nonnull_all;
/* The queue that it notified, or -1. */
int driver_set(struct driver *d, uint64_t reg, uint32_t value) nonnull_all;

uint64_t driver_ring(unsigned int q); /* of the descriptor table */
uint64_t driver_avail(unsigned int q);
uint64_t driver_used(unsigned int q);

void driver_desc(struct driver *d, unsigned int q, uint16_t i, struct driver_desc desc) nonnull_all;
/* Makes a chain available. */
void driver_offer(struct driver *d, unsigned int q, uint16_t head) nonnull_all;
/* A chain of n descriptors from index head on, linked in order; flags of each: 0 or DESC_WRITE. */
void driver_chain(struct driver *d, unsigned int q, uint16_t head, const struct driver_desc *descs,
                  size_t n) nonnull_all;
/* True and the next used element, or false if there is none. */
bool driver_collect(struct driver *d, unsigned int q, uint32_t *ret_head,
                    uint32_t *ret_written) nonnull_all;

void driver_put(struct driver *d, uint64_t gpa, const void *data, size_t len) nonnull_all;
void driver_look(struct driver *d, uint64_t gpa, void *ret, size_t len) nonnull_all;
/* Pulses of the interrupt since the last call. */
uint64_t driver_pulses(struct driver *d) nonnull_all;
/* virtio_kick() that must not fail on the host's side: 0 or 1. */
int driver_kick(struct driver *d, unsigned int q) nonnull_all;
