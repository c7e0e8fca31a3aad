#include <errno.h>
#include <string.h>

#include "vmm/virtio-internal.h"

static void save_queue(const struct virtq *q, struct wire_out *out)
{
    if (memchr(q->in_flight, true, sizeof(q->in_flight)) != NULL) {
        out->error = -EBUSY;
    }
    wire_write_u32(out, q->size);
    wire_write_u32(out, q->ready ? 1 : 0);
    wire_write_u64(out, q->desc);
    wire_write_u64(out, q->avail);
    wire_write_u64(out, q->used);
    wire_write_u32(out, q->next_avail); /* next_used, too: nothing is in flight */
}

void virtio_save(const struct virtio *dev, struct wire_out *out)
{
    if (dev->broken) {
        out->error = -EPROTO;
    }
    wire_write_u32(out, dev->ops->device_id);
    wire_write_u32(out, dev->status);
    wire_write_u32(out, dev->device_features_sel);
    wire_write_u32(out, dev->driver_features_sel);
    wire_write_u32(out, dev->queue_sel);
    wire_write_u64(out, dev->driver_features);
    wire_write_u32(out, dev->interrupt_status);
    wire_write_u32(out, dev->ops->n_queues);
    for (unsigned int i = 0; i < dev->ops->n_queues; i++) {
        save_queue(&dev->queues[i], out);
    }
    if (dev->ops->save != NULL) {
        dev->ops->save(dev, out);
    }
}

/* Numbers are taken until one is missing; then the cursor is at its end and *bad is set. */
static uint32_t take_u32(struct wire_in *in, bool *bad)
{
    const uint8_t *at = wire_take(in, 4);

    *bad = *bad || at == NULL;
    return at == NULL ? 0 : wire_get_u32(at);
}

static uint64_t take_u64(struct wire_in *in, bool *bad)
{
    const uint8_t *at = wire_take(in, 8);

    *bad = *bad || at == NULL;
    return at == NULL ? 0 : wire_get_u64(at);
}

static int load_queue(const struct virtio *dev, struct virtq *q, struct wire_in *in,
                      struct err *err)
{
    struct err why = ERR_INIT;
    bool bad = false;
    uint32_t size = take_u32(in, &bad);
    uint32_t ready = take_u32(in, &bad);
    uint32_t next = 0;

    q->desc = take_u64(in, &bad);
    q->avail = take_u64(in, &bad);
    q->used = take_u64(in, &bad);
    next = take_u32(in, &bad);
    if (bad || size > VIRTQ_SIZE_MAX || ready > 1 || next > UINT16_MAX) {
        return err_usage(err, "numbers that no queue has");
    }
    q->size = (uint16_t)size;
    if (ready == 0) {
        return 0;
    }
    if ((dev->status & VIRTIO_STATUS_FEATURES_OK) == 0 || virtq_enable(q, dev->mem, &why) < 0) {
        return err_usage(err, "ready at status 0x%x: %s", dev->status,
                         why.class == ERR_NONE ? "too early" : why.msg);
    }
    q->next_avail = q->next_used = (uint16_t)next;
    return 0;
}

static int load_registers(struct virtio *dev, struct wire_in *in, struct err *err)
{
    bool bad = false;
    uint32_t device_id = take_u32(in, &bad);
    uint32_t n_queues = 0;

    dev->status = take_u32(in, &bad);
    dev->device_features_sel = take_u32(in, &bad);
    dev->driver_features_sel = take_u32(in, &bad);
    dev->queue_sel = take_u32(in, &bad);
    dev->driver_features = take_u64(in, &bad);
    dev->interrupt_status = take_u32(in, &bad);
    n_queues = take_u32(in, &bad);
    if (bad) {
        return err_usage(err, "it ends in the middle");
    }
    if (device_id != dev->ops->device_id || n_queues != dev->ops->n_queues) {
        return err_usage(err, "it is of device %u with %u queues, not of %u with %u", device_id,
                         n_queues, dev->ops->device_id, dev->ops->n_queues);
    }
    if (!virtio_status_sound(dev->status) ||
        (dev->interrupt_status & ~(VIRTIO_INT_QUEUE | VIRTIO_INT_CONFIG)) != 0) {
        return err_usage(err, "status 0x%x, interrupt status 0x%x", dev->status,
                         dev->interrupt_status);
    }
    if ((dev->status & VIRTIO_STATUS_FEATURES_OK) != 0 && !virtio_features_sound(dev)) {
        return err_usage(err, "features that this monitor does not offer");
    }
    return 0;
}

static int load(struct virtio *dev, struct wire_in *in, struct err *err)
{
    int r = load_registers(dev, in, err);

    for (unsigned int i = 0; r == 0 && i < dev->ops->n_queues; i++) {
        r = load_queue(dev, &dev->queues[i], in, err);
        if (r < 0) {
            r = err_wrap(err, "queue %u", i);
        }
    }
    if (r == 0 && dev->ops->load != NULL) {
        r = dev->ops->load(dev, in, err);
    }
    return r;
}

int virtio_load(struct virtio *dev, struct wire_in *in, struct err *err)
{
    int r = load(dev, in, err);

    return r < 0 ? err_wrap(err, "state of %s in slot %u", dev->ops->name, dev->slot) : 0;
}
