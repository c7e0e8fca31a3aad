/*
 * vmm-virtio.h - a virtio driver as small as one gets, with every step in the hands of the attack.
 *
 * virtio 1.2: section 2.7 (split queues) and 4.2 (virtio-mmio). One ring of each kind for each queue
 * of a device, at fixed places; polling only.
 */
#pragma once

#include "vmm-guest.h"

enum {
    REG_MAGIC = 0x00,
    REG_VERSION = 0x04,
    REG_DEVICE = 0x08,
    REG_VENDOR = 0x0c,
    REG_FEATURES = 0x10,
    REG_FEATURES_SEL = 0x14,
    REG_DRIVER_FEATURES = 0x20,
    REG_DRIVER_FEATURES_SEL = 0x24,
    REG_QUEUE_SEL = 0x30,
    REG_QUEUE_MAX = 0x34,
    REG_QUEUE_SIZE = 0x38,
    REG_QUEUE_READY = 0x44,
    REG_NOTIFY = 0x50,
    REG_INTERRUPT = 0x60,
    REG_INTERRUPT_ACK = 0x64,
    REG_STATUS = 0x70,
    REG_DESC = 0x80,
    REG_AVAIL = 0x90,
    REG_USED = 0xa0,
    REG_GENERATION = 0xfc,
    REG_CONFIG = 0x100
};

enum {
    STATUS_ACKNOWLEDGE = 1,
    STATUS_DRIVER = 2,
    STATUS_OK = 4,
    STATUS_FEATURES_OK = 8
};

enum {
    STATUS_NEEDS_RESET = 64,
    STATUS_FAILED = 128
};

#define FEATURE_VERSION_1 (1ull << 32)

enum {
    DESC_NEXT = 1,
    DESC_WRITE = 2,
    DESC_INDIRECT = 4
};

struct desc {
    uint64_t addr;
    uint32_t len;
    uint16_t flags, next;
};

#define RING_SIZE 16u /* descriptors of the queues that an attack makes, if it says nothing else */
#define RING_MAX  256u

struct ring {
    struct desc desc[RING_MAX] __attribute__((aligned(4096)));

    struct {
        uint16_t flags, idx, ring[RING_MAX];
    } avail __attribute__((aligned(4096)));

    struct {
        uint16_t flags, idx;

        struct {
            uint32_t id, len;
        } ring[RING_MAX];
    } used __attribute__((aligned(4096)));
};

struct queue {
    uint32_t window;
    unsigned int index, size;
    struct ring *ring;
    uint16_t used_seen;
};

/* Status up to FEATURES_OK with VERSION_1 and these features: what the device left of them. */
uint32_t device_begin(unsigned int device, uint64_t features);
void device_go(unsigned int device);
/* Sets size and addresses and says that the queue is ready. */
void queue_set(unsigned int device, unsigned int index, uint32_t size, uint64_t desc,
               uint64_t avail, uint64_t used);
/* A proper queue over the ring with this number; before device_go(). */
void queue_make(struct queue *q, unsigned int device, unsigned int index, unsigned int ring);
struct ring *ring_get(unsigned int number);
/* Fills a descriptor. */
void desc_set(struct queue *q, unsigned int at, uint64_t addr, uint32_t len, uint16_t flags,
              uint16_t next);
/* Makes a chain available, without and with a kick. */
void queue_put(struct queue *q, uint16_t head);
void queue_kick(const struct queue *q);
void queue_give(struct queue *q, uint16_t head);
/* Waits for the next used chain: true and the bytes the device says it wrote. */
bool queue_take(struct queue *q, uint32_t *ret_len);

static inline uint64_t gpa(const volatile void *at)
{
    return (uint64_t)(uintptr_t)at;
}

/* A page for what goes to a device and what comes from it. */
extern uint8_t page_out[4096], page_in[4096];

/* One request to the disk with all its answer; out of memory that the device may see. */
struct blk_header {
    uint32_t type, reserved;
    uint64_t sector;
};

/* The console's handshake: queues of control and of port 1, ready and open. */
struct console_queues {
    struct queue control_in, control_out, in, out;
};

void console_begin(struct console_queues *c);
/* A control message, and one that is waited for. */
void console_send(struct console_queues *c, uint32_t port, uint16_t event, uint16_t value);
void console_tell(struct console_queues *c, uint32_t port, uint16_t event, uint16_t value);

/*
 * What the attacks on queues and chains are done to, by the command line's second word: "rng", "blk",
 * "control" (of the console), "tx" (of its port).
 */
struct target {
    unsigned int device;
    struct queue q;
    uint16_t flag;  /* DESC_WRITE if its buffers are written by the device */
    uint16_t first; /* the descriptor to fill: before it stands what the device wants to see */
};

/* A target that runs. */
void target_begin(struct target *t);
/* The header of the disk's requests. */
volatile struct blk_header *target_header(void);
/* A proper request, and one whose answer is waited for. */
void target_ask(struct target *t);
bool target_works(struct target *t);
