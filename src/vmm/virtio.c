#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/eventfd.h>

#include "proto/wire.h"
#include "vmm/virtio-internal.h"

/* Registers (virtio 1.2, 4.2.2). */
enum reg {
    REG_MAGIC = 0x000,
    REG_VERSION = 0x004,
    REG_DEVICE_ID = 0x008,
    REG_VENDOR_ID = 0x00c,
    REG_DEVICE_FEATURES = 0x010,
    REG_DEVICE_FEATURES_SEL = 0x014,
    REG_DRIVER_FEATURES = 0x020,
    REG_DRIVER_FEATURES_SEL = 0x024,
    REG_QUEUE_SEL = 0x030,
    REG_QUEUE_NUM_MAX = 0x034,
    REG_QUEUE_NUM = 0x038,
    REG_QUEUE_READY = 0x044,
    REG_QUEUE_NOTIFY = 0x050,
    REG_INTERRUPT_STATUS = 0x060,
    REG_INTERRUPT_ACK = 0x064,
    REG_STATUS = 0x070,
    REG_DESC_LOW = 0x080,
    REG_DESC_HIGH = 0x084,
    REG_AVAIL_LOW = 0x090,
    REG_AVAIL_HIGH = 0x094,
    REG_USED_LOW = 0x0a0,
    REG_USED_HIGH = 0x0a4,
    REG_SHM_LEN_LOW = 0x0b0,
    REG_SHM_LEN_HIGH = 0x0b4,
    REG_SHM_BASE_LOW = 0x0b8,
    REG_SHM_BASE_HIGH = 0x0bc,
    REG_CONFIG_GENERATION = 0x0fc,
    REG_CONFIG = 0x100,
};

#define MAGIC     0x74726976u /* "virt" */
#define VERSION   2u
#define VENDOR_ID 0x4b4c5241u /* "ARLK" */

void virtio_init(struct virtio *dev, const struct virtio_ops *ops, const struct gmem *mem,
                 unsigned int slot, int irq_fd)
{
    *dev = (struct virtio){.ops = ops,
                           .features = ops->features | VIRTIO_F_VERSION_1,
                           .mem = mem,
                           .slot = slot,
                           .irq_fd = irq_fd};
}

bool virtio_status_sound(uint32_t status)
{
    static const uint32_t steps[] = {VIRTIO_STATUS_ACKNOWLEDGE, VIRTIO_STATUS_DRIVER,
                                     VIRTIO_STATUS_FEATURES_OK, VIRTIO_STATUS_DRIVER_OK};
    uint32_t rest = status & ~VIRTIO_STATUS_FAILED;
    bool missed = false;

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        bool done = (rest & steps[i]) != 0;

        if (done && missed) {
            return false;
        }
        missed = missed || !done;
        rest &= ~steps[i];
    }
    return rest == 0;
}

bool virtio_features_sound(const struct virtio *dev)
{
    return (dev->driver_features & ~dev->features) == 0 &&
           (dev->driver_features & VIRTIO_F_VERSION_1) != 0;
}

bool virtio_live(const struct virtio *dev, unsigned int q)
{
    return !dev->broken && (dev->status & VIRTIO_STATUS_DRIVER_OK) != 0 &&
           (dev->status & VIRTIO_STATUS_FAILED) == 0 && q < dev->ops->n_queues &&
           dev->queues[q].ready;
}

/* One pulse of the device's interrupt. A counter that is full says the same as one more. */
static int pulse(struct virtio *dev, uint32_t reason, struct err *err)
{
    dev->interrupt_status |= reason;
    if (eventfd_write(dev->irq_fd, 1) < 0 && errno != EAGAIN) {
        return err_sys(err, "%s in slot %u: cannot raise its interrupt", dev->ops->name, dev->slot);
    }
    return 0;
}

int virtio_interrupt(struct virtio *dev, unsigned int q, struct err *err)
{
    int r = virtq_wants_interrupt(&dev->queues[q], dev->mem, err);

    /*
     * Also when the driver has not acknowledged the one before: the pulse is an edge, and one that
     * met a masked pin is lost.
     */
    return r <= 0 ? r : pulse(dev, VIRTIO_INT_QUEUE, err);
}

void virtio_break(struct virtio *dev, struct err *err)
{
    struct err ignored = ERR_INIT;

    if (!dev->broken) {
        dev->broken = true;
        (void)err_wrap(err, "%s in slot %u", dev->ops->name, dev->slot);
        dev->why = *err;
        dev->status |= VIRTIO_STATUS_NEEDS_RESET;
        /* 2.1.2. The run ends for what the guest did, so a second trouble changes nothing. */
        if ((dev->status & VIRTIO_STATUS_DRIVER_OK) != 0) {
            (void)pulse(dev, VIRTIO_INT_CONFIG, &ignored);
        }
    }
    *err = (struct err)ERR_INIT;
}

static void reset(struct virtio *dev)
{
    dev->status = 0;
    dev->device_features_sel = 0;
    dev->driver_features_sel = 0;
    dev->queue_sel = 0;
    dev->driver_features = 0;
    dev->interrupt_status = 0;
    for (size_t i = 0; i < ARRAY_LEN(dev->queues); i++) {
        virtq_reset(&dev->queues[i]);
    }
    if (dev->ops->reset != NULL) {
        dev->ops->reset(dev);
    }
}

static uint32_t half(uint64_t value, uint32_t sel)
{
    switch (sel) {
    case 0:
        return (uint32_t)value;
    case 1:
        return (uint32_t)(value >> 32);
    default:
        return 0;
    }
}

static uint32_t reg_read(const struct virtio *dev, uint64_t offset)
{
    bool has_queue = dev->queue_sel < dev->ops->n_queues;

    switch (offset) {
    case REG_MAGIC:
        return MAGIC;
    case REG_VERSION:
        return VERSION;
    case REG_DEVICE_ID:
        return dev->ops->device_id;
    case REG_VENDOR_ID:
        return VENDOR_ID;
    case REG_DEVICE_FEATURES:
        return half(dev->features, dev->device_features_sel);
    case REG_QUEUE_NUM_MAX:
        return has_queue ? VIRTQ_SIZE_MAX : 0;
    case REG_QUEUE_READY:
        return has_queue && dev->queues[dev->queue_sel].ready ? 1 : 0;
    case REG_INTERRUPT_STATUS:
        return dev->interrupt_status;
    case REG_STATUS:
        return dev->status;
    case REG_SHM_LEN_LOW:
    case REG_SHM_LEN_HIGH:
    case REG_SHM_BASE_LOW:
    case REG_SHM_BASE_HIGH:
        return UINT32_MAX; /* no such region (4.2.2, SHMLen) */
    default:
        return 0; /* also ConfigGeneration: no configuration changes */
    }
}

void virtio_read(struct virtio *dev, uint64_t offset, void *ret, unsigned int size)
{
    uint8_t raw[4] = {0};

    memset(ret, 0, size);
    if (offset >= REG_CONFIG) {
        uint64_t at = offset - REG_CONFIG;

        if (at < dev->ops->config_size && size <= dev->ops->config_size - at) {
            memcpy(ret, dev->config + at, size);
        }
    } else if (size == sizeof(raw) && offset % sizeof(raw) == 0) {
        wire_put_u32(raw, reg_read(dev, offset));
        memcpy(ret, raw, sizeof(raw));
    }
}

static int write_status(struct virtio *dev, uint32_t value, struct err *err)
{
    uint32_t taken = 0;

    if (value == 0) {
        reset(dev);
        return 0;
    }
    if ((dev->status & ~value) != 0) {
        return err_guest(err, "status 0x%x after 0x%x takes back a step", value, dev->status);
    }
    /* 3.1.1, step 6: the driver reads back whether its features were taken. */
    taken = (value & ~dev->status & VIRTIO_STATUS_FEATURES_OK) == 0 || virtio_features_sound(dev)
                ? value
                : value & ~VIRTIO_STATUS_FEATURES_OK;
    if (!virtio_status_sound(value) || !virtio_status_sound(taken)) {
        return err_guest(err, "status 0x%x after 0x%x lacks a step before it", value, dev->status);
    }
    dev->status = taken;
    return 0;
}

static int write_features(struct virtio *dev, uint32_t value, struct err *err)
{
    uint32_t sel = dev->driver_features_sel;
    uint64_t mask = 0;

    if ((dev->status & VIRTIO_STATUS_FEATURES_OK) != 0) {
        return err_guest(err, "features written after FEATURES_OK");
    }
    if (sel > 1) {
        return value == 0 ? 0 : err_guest(err, "features above bit 63 were not offered");
    }
    mask = (uint64_t)UINT32_MAX << (32 * sel);
    dev->driver_features = (dev->driver_features & ~mask) | (uint64_t)value << (32 * sel);
    return 0;
}

static void set_low(uint64_t *address, uint32_t value)
{
    *address = (*address & ~(uint64_t)UINT32_MAX) | value;
}

static void set_high(uint64_t *address, uint32_t value)
{
    *address = (*address & UINT32_MAX) | (uint64_t)value << 32;
}

static int write_ready(struct virtio *dev, struct virtq *queue, uint32_t value, struct err *err)
{
    int r = 0;

    if (value == 0) {
        virtq_reset(queue);
        return 0;
    }
    r = value == 1 ? virtq_enable(queue, dev->mem, err)
                   : err_guest(err, "QueueReady is written as %u", value);
    return r < 0 ? err_wrap(err, "queue %u", dev->queue_sel) : 0;
}

static int write_queue(struct virtio *dev, uint64_t offset, uint32_t value, struct err *err)
{
    uint32_t steps = VIRTIO_STATUS_FEATURES_OK | VIRTIO_STATUS_DRIVER_OK;
    struct virtq *queue = NULL;

    if (dev->queue_sel >= dev->ops->n_queues) {
        return err_guest(err, "queue %u is set up, of %u", dev->queue_sel, dev->ops->n_queues);
    }
    queue = &dev->queues[dev->queue_sel];
    if (offset == REG_QUEUE_READY && value == 0 && !queue->ready) {
        return 0; /* as a driver does that leaves, after its reset */
    }
    if ((dev->status & steps) != VIRTIO_STATUS_FEATURES_OK) {
        return err_guest(err, "queue %u is set up at status 0x%x", dev->queue_sel, dev->status);
    }
    if (offset == REG_QUEUE_READY) {
        return write_ready(dev, queue, value, err);
    }
    if (queue->ready) {
        return err_guest(err, "queue %u is set up again while it is ready", dev->queue_sel);
    }
    switch (offset) {
    case REG_QUEUE_NUM:
        if (value > VIRTQ_SIZE_MAX) {
            return err_guest(err, "queue %u of %u descriptors", dev->queue_sel, value);
        }
        queue->size = (uint16_t)value;
        break;
    case REG_DESC_LOW:
        set_low(&queue->desc, value);
        break;
    case REG_DESC_HIGH:
        set_high(&queue->desc, value);
        break;
    case REG_AVAIL_LOW:
        set_low(&queue->avail, value);
        break;
    case REG_AVAIL_HIGH:
        set_high(&queue->avail, value);
        break;
    case REG_USED_LOW:
        set_low(&queue->used, value);
        break;
    default: /* REG_USED_HIGH */
        set_high(&queue->used, value);
        break;
    }
    return 0;
}

/* 0, or ERR_GUEST; *ret_kick is the queue that was notified. */
static int reg_write(struct virtio *dev, uint64_t offset, uint32_t value, int *ret_kick,
                     struct err *err)
{
    switch (offset) {
    case REG_DEVICE_FEATURES_SEL:
        dev->device_features_sel = value;
        return 0;
    case REG_DRIVER_FEATURES_SEL:
        dev->driver_features_sel = value;
        return 0;
    case REG_DRIVER_FEATURES:
        return write_features(dev, value, err);
    case REG_QUEUE_SEL:
        dev->queue_sel = value;
        return 0;
    case REG_QUEUE_NUM:
    case REG_QUEUE_READY:
    case REG_DESC_LOW:
    case REG_DESC_HIGH:
    case REG_AVAIL_LOW:
    case REG_AVAIL_HIGH:
    case REG_USED_LOW:
    case REG_USED_HIGH:
        return write_queue(dev, offset, value, err);
    case REG_QUEUE_NOTIFY:
        if (value >= dev->ops->n_queues) {
            return err_guest(err, "queue %u is notified, of %u", value, dev->ops->n_queues);
        }
        *ret_kick = (int)value;
        return 0;
    case REG_INTERRUPT_ACK:
        dev->interrupt_status &= ~value;
        return 0;
    case REG_STATUS:
        return write_status(dev, value, err);
    default:
        return 0;
    }
}

int virtio_write(struct virtio *dev, uint64_t offset, const void *data, unsigned int size)
{
    struct err err = ERR_INIT;
    uint8_t raw[4] = {0};
    int kick = -1;

    if (dev->broken || size != sizeof(raw) || offset % sizeof(raw) != 0 || offset >= REG_CONFIG) {
        return -1;
    }
    memcpy(raw, data, sizeof(raw));
    if (reg_write(dev, offset, wire_get_u32(raw), &kick, &err) < 0) {
        virtio_break(dev, &err);
    }
    return kick;
}

int virtio_kick(struct virtio *dev, unsigned int q, struct err *err)
{
    int r = 0;

    if (!virtio_live(dev, q)) {
        return 0; /* 2.1.2: nothing is consumed before DRIVER_OK */
    }
    r = dev->ops->kick(dev, q, err);
    if (r < 0 && err->class == ERR_GUEST) {
        virtio_break(dev, err);
        r = 0;
    }
    return r;
}
