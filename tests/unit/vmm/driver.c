#include "driver.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "proto/wire.h"
#include "test.h"

#define RING_BASE   0x10000u
#define RING_STRIDE 0x3000u

void driver_init(struct driver *d)
{
    struct err err = ERR_INIT;

    *d = (struct driver){.mem = GMEM_INIT};
    assert_ok(gmem_map(-1, false, DRIVER_MEMORY, &d->mem, &err), &err);
    d->irq_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_true(d->irq_fd >= 0);
}

void driver_fini(struct driver *d)
{
    gmem_fini(&d->mem);
    (void)close(d->irq_fd);
}

uint64_t driver_ring(unsigned int q)
{
    return RING_BASE + (uint64_t)q * RING_STRIDE;
}

uint64_t driver_avail(unsigned int q)
{
    return driver_ring(q) + 0x1000;
}

uint64_t driver_used(unsigned int q)
{
    return driver_ring(q) + 0x2000;
}

uint32_t driver_get(struct driver *d, uint64_t reg)
{
    uint8_t raw[4];

    virtio_read(d->dev, reg, raw, sizeof(raw));
    return wire_get_u32(raw);
}

int driver_set(struct driver *d, uint64_t reg, uint32_t value)
{
    uint8_t raw[4];

    wire_put_u32(raw, value);
    return virtio_write(d->dev, reg, raw, sizeof(raw));
}

void driver_features(struct driver *d, struct virtio *dev, uint64_t mask)
{
    d->dev = dev;
    (void)driver_set(d, R_STATUS, 0);
    (void)driver_set(d, R_STATUS, DRIVER_ACKNOWLEDGED);
    (void)driver_set(d, R_STATUS, DRIVER_KNOWN);
    for (uint32_t sel = 0; sel < 2; sel++) {
        (void)driver_set(d, R_DEVICE_FEATURES_SEL, sel);
        (void)driver_set(d, R_DRIVER_FEATURES_SEL, sel);
        (void)driver_set(d, R_DRIVER_FEATURES,
                         driver_get(d, R_DEVICE_FEATURES) & (uint32_t)(mask >> (32 * sel)));
    }
    (void)driver_set(d, R_STATUS, DRIVER_FEATURES);
}

void driver_rings(struct driver *d, unsigned int q)
{
    (void)driver_set(d, R_QUEUE_SEL, q);
    (void)driver_set(d, R_QUEUE_NUM, DRIVER_SIZE);
    (void)driver_set(d, R_DESC_LOW, (uint32_t)driver_ring(q));
    (void)driver_set(d, R_DESC_HIGH, 0);
    (void)driver_set(d, R_AVAIL_LOW, (uint32_t)driver_avail(q));
    (void)driver_set(d, R_AVAIL_HIGH, 0);
    (void)driver_set(d, R_USED_LOW, (uint32_t)driver_used(q));
    (void)driver_set(d, R_USED_HIGH, 0);
}

void driver_start(struct driver *d, struct virtio *dev, uint64_t mask)
{
    static const uint8_t nothing[RING_STRIDE];

    driver_features(d, dev, mask);
    for (unsigned int q = 0; q < dev->ops->n_queues; q++) {
        driver_put(d, driver_ring(q), nothing, sizeof(nothing));
        d->avail[q] = d->used[q] = 0;
        driver_rings(d, q);
        (void)driver_set(d, R_QUEUE_READY, 1);
    }
    (void)driver_set(d, R_STATUS, DRIVER_RUNS);
    assert_int_equal(driver_get(d, R_STATUS), DRIVER_RUNS);
}

void driver_put(struct driver *d, uint64_t gpa, const void *data, size_t len)
{
    assert_int_equal(gmem_write(&d->mem, gpa, data, len), 0);
}

void driver_look(struct driver *d, uint64_t gpa, void *ret, size_t len)
{
    assert_int_equal(gmem_read(&d->mem, gpa, ret, len), 0);
}

void driver_desc(struct driver *d, unsigned int q, uint16_t i, struct driver_desc desc)
{
    uint8_t raw[VIRTQ_DESC_SIZE];

    wire_put_u64(raw, desc.gpa);
    wire_put_u32(raw + 8, desc.len);
    wire_put_u16(raw + 12, desc.flags);
    wire_put_u16(raw + 14, desc.next);
    driver_put(d, driver_ring(q) + VIRTQ_DESC_SIZE * (uint64_t)i, raw, sizeof(raw));
}

void driver_offer(struct driver *d, unsigned int q, uint16_t head)
{
    assert_int_equal(gmem_store16(&d->mem,
                                  driver_avail(q) + 4 + 2 * (uint64_t)(d->avail[q] % DRIVER_SIZE),
                                  head),
                     0);
    d->avail[q]++;
    assert_int_equal(gmem_store16(&d->mem, driver_avail(q) + 2, d->avail[q]), 0);
}

void driver_chain(struct driver *d, unsigned int q, uint16_t head, const struct driver_desc *descs,
                  size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct driver_desc desc = descs[i];

        desc.next = (uint16_t)(head + i + 1);
        desc.flags = (uint16_t)(desc.flags | (i + 1 < n ? DESC_NEXT : 0));
        driver_desc(d, q, (uint16_t)(head + i), desc);
    }
    driver_offer(d, q, head);
}

bool driver_collect(struct driver *d, unsigned int q, uint32_t *ret_head, uint32_t *ret_written)
{
    uint16_t idx = 0;
    uint8_t raw[8];

    assert_int_equal(gmem_load16(&d->mem, driver_used(q) + 2, &idx), 0);
    if (idx == d->used[q]) {
        return false;
    }
    driver_look(d, driver_used(q) + 4 + 8 * (uint64_t)(d->used[q] % DRIVER_SIZE), raw, sizeof(raw));
    d->used[q]++;
    *ret_head = wire_get_u32(raw);
    *ret_written = wire_get_u32(raw + 4);
    return true;
}

uint64_t driver_pulses(struct driver *d)
{
    eventfd_t n = 0;

    return eventfd_read(d->irq_fd, &n) < 0 ? 0 : n;
}

int driver_kick(struct driver *d, unsigned int q)
{
    struct err err = ERR_INIT;
    int r = virtio_kick(d->dev, q, &err);

    test_ok_at(r < 0 ? r : 0, &err, __FILE__, __LINE__);
    return r;
}
