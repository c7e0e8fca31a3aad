/*
 * guest.h - a hostile guest for fuzz targets: its memory, its driver's registers, and a script.
 *
 * An input is u16 length of the script, the script, and what is in memory from address 0 on. The
 * rings of queue q are at GUEST_RING * q, so that all of them are in reach of a small input. Beside
 * the memory lies nothing that may be touched (gmem.h): whoever leaves it ends with a signal.
 */
#pragma once

#include <string.h>
#include <sys/mman.h>

#include "fuzz.h"
#include "proto/wire.h"
#include "vmm/layout.h"
#include "vmm/virtio.h"

#define GUEST_RING       0x400u
#define GUEST_RING_AVAIL 0x100u
#define GUEST_RING_USED  0x200u
#define GUEST_RING_SIZE  16u
#define GUEST_IMAGE_MAX  0x10000u
#define GUEST_OPS_MAX    200u

/* The next number of a script; 0 behind its end. */
static inline uint32_t script_take(struct wire_in *script, size_t bytes)
{
    uint32_t v = 0;
    const uint8_t *at = wire_take(script, bytes);

    for (size_t i = 0; at != NULL && i < bytes; i++) {
        v |= (uint32_t)at[i] << (8 * i);
    }
    return v;
}

/* Memory as the input has it; the same mapping for every input, emptied before each. */
static inline struct wire_in guest_load(const uint8_t *data, size_t size, struct gmem *ret)
{
    static struct gmem mem = GMEM_INIT;
    struct err err = ERR_INIT;
    struct wire_in in = {data, size};
    size_t len = script_take(&in, 2);
    struct wire_in script = {in.at, len < in.left ? len : in.left};

    if (mem.base == NULL) {
        fuzz_check(gmem_map(-1, false, LAYOUT_RAM_MIN, &mem, &err) == 0);
    }
    fuzz_check(madvise(mem.base, mem.size, MADV_DONTNEED) == 0);
    (void)wire_take(&in, script.left);
    fuzz_check(gmem_write(&mem, 0, in.at, in.left < GUEST_IMAGE_MAX ? in.left : GUEST_IMAGE_MAX) ==
               0);
    *ret = mem;
    return script;
}

static inline int guest_set(struct virtio *dev, uint64_t reg, uint32_t value)
{
    uint8_t raw[4];

    wire_put_u32(raw, value);
    return virtio_write(dev, reg, raw, sizeof(raw));
}

/* All that a driver does up to DRIVER_OK, in order. */
static inline void guest_start(struct virtio *dev)
{
    static const struct {
        uint64_t reg;
        uint32_t value;
    } steps[] = {{0x70, 0}, {0x70, 1}, {0x70, 3}, {0x24, 1}, {0x20, 1}, {0x70, 0xb}};

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        (void)guest_set(dev, steps[i].reg, steps[i].value);
    }
    for (uint32_t q = 0; q < dev->ops->n_queues; q++) {
        (void)guest_set(dev, 0x30, q);
        (void)guest_set(dev, 0x38, GUEST_RING_SIZE);
        (void)guest_set(dev, 0x80, q * GUEST_RING);
        (void)guest_set(dev, 0x90, q * GUEST_RING + GUEST_RING_AVAIL);
        (void)guest_set(dev, 0xa0, q * GUEST_RING + GUEST_RING_USED);
        (void)guest_set(dev, 0x44, 1);
    }
    (void)guest_set(dev, 0x70, 0xf);
}

/* Two bytes of memory become what the script says, as another processor would do it. */
static inline void guest_meddle(const struct gmem *mem, struct wire_in *script)
{
    uint32_t gpa = script_take(script, 2) & ~1u;

    fuzz_check(gmem_store16(mem, gpa, (uint16_t)script_take(script, 2)) == 0);
}

/* virtio_kick(), in which the host has no reason to fail. */
static inline void guest_kick(struct virtio *dev, unsigned int q)
{
    struct err err = ERR_INIT;
    int r = virtio_kick(dev, q, &err);

    fuzz_check((r == 0 || r == 1) && err.class == ERR_NONE);
}

/* What holds of every device at any time. */
static inline void guest_check(const struct virtio *dev)
{
    fuzz_check(!dev->broken || dev->why.class == ERR_GUEST);
    fuzz_check(dev->broken == ((dev->status & 0x40) != 0));
    for (unsigned int q = 0; q < VIRTIO_QUEUES_MAX; q++) {
        const struct virtq *queue = &dev->queues[q];

        if (queue->ready) {
            fuzz_check(q < dev->ops->n_queues && (dev->status & 8) != 0);
            fuzz_check(queue->size > 0 && queue->size <= VIRTQ_SIZE_MAX);
            fuzz_check(gmem_has(dev->mem, queue->desc, 16ull * queue->size));
            fuzz_check(gmem_has(dev->mem, queue->avail, 6 + 2ull * queue->size));
            fuzz_check(gmem_has(dev->mem, queue->used, 6 + 8ull * queue->size));
        }
    }
}
