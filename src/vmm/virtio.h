/*
 * virtio.h - a virtio 1.2 device behind one virtio-mmio window (section 4.2), version 2 only.
 *
 * virtio.c is the transport: status, features, queues, configuration space, interrupt status. What a
 * device does with its queues is in dev/NAME.c, behind struct virtio_ops. Two kinds of threads come
 * here: vCPU threads with register accesses, the I/O thread with kicks and readable descriptors;
 * the machine's lock (machine.h) is held in every function below, by the caller.
 *
 * A device that is lied to goes broken: DEVICE_NEEDS_RESET is set, its queues are not touched again,
 * and the reason is kept for the monitor, which ends the run (START_EXIT_GUEST). Not even a reset
 * mends it, so that the monitor cannot miss it. Lies are, beside those of virtq.h:
 *   - a status without the steps before it, one that takes back a step, bits that no status has
 *     (features that were not offered are no lie: FEATURES_OK is refused, section 3.1.1);
 *   - a queue register outside the time between FEATURES_OK and DRIVER_OK, of a queue that is ready
 *     or of none that there is; features after FEATURES_OK;
 *   - a notification for a queue that does not exist.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "proto/wire.h"
#include "vmm/gmem.h"
#include "vmm/virtq.h"

#define VIRTIO_QUEUES_MAX 6u
#define VIRTIO_CONFIG_MAX 64u
/* Chains that one call of kick() takes at most; the rest after others had their turn (V16). */
#define VIRTIO_BUDGET 64u

struct virtio;

struct virtio_ops {
    const char *name;   /* for messages */
    uint32_t device_id; /* virtio 1.2, section 5 */
    uint64_t features;  /* of all its kind, beside VIRTIO_F_VERSION_1 */
    unsigned int n_queues;
    /* Bytes of the configuration space, filled once at the start (virtio.config); read-only. */
    size_t config_size;
    /*
     * The driver kicked queue q, or it had more than VIRTIO_BUDGET chains: 0 all done, 1 call again
     * after others, ERR_GUEST: broken, ERR_HOST: the monitor ends. Only between DRIVER_OK and reset.
     */
    int (*kick)(struct virtio *dev, unsigned int q, struct err *err);
    /* The driver reset the device: what it was doing is forgotten. May be NULL. */
    void (*reset)(struct virtio *dev);
    /* What the device knows beside its queues, for a saved state. May be NULL. */
    void (*save)(const struct virtio *dev, struct wire_out *out);
    /* Takes exactly what save() wrote and checks it: 0 or ERR_USAGE. May be NULL. */
    int (*load)(struct virtio *dev, struct wire_in *in, struct err *err);
};

struct virtio {
    const struct virtio_ops *ops;
    uint64_t features;      /* offered, VIRTIO_F_VERSION_1 among them */
    const struct gmem *mem; /* borrowed */
    unsigned int slot;      /* of layout.h: window and GSI */
    int irq_fd;             /* eventfd that KVM has as the device's GSI; borrowed */
    uint8_t config[VIRTIO_CONFIG_MAX];

    /* Registers. */
    uint32_t status;
    uint32_t device_features_sel, driver_features_sel, queue_sel;
    uint64_t driver_features;
    uint32_t interrupt_status;
    struct virtq queues[VIRTIO_QUEUES_MAX];

    bool broken;
    struct err why; /* of broken */
};

/* mem and irq_fd are borrowed and outlive it. Fill dev->config, and features of its own, afterwards. */
void virtio_init(struct virtio *dev, const struct virtio_ops *ops, const struct gmem *mem,
                 unsigned int slot, int irq_fd) nonnull_all;

/*
 * A register access of the guest: offset inside the window, size 1, 2, 4 or 8 bytes (V11: anything
 * but an aligned access of 4 outside the configuration space reads as zero and writes nothing).
 * QueueNotify does not come here but to an eventfd; if it does, it is handled by the caller:
 * returns the queue to kick, or -1.
 */
void virtio_read(struct virtio *dev, uint64_t offset, void *ret, unsigned int size) nonnull_all;
must_use int virtio_write(struct virtio *dev, uint64_t offset, const void *data,
                          unsigned int size) nonnull_all;

/* virtio_ops.kick() behind the checks: q in range, ready, DRIVER_OK, not broken. 0, 1 or ERR_HOST. */
must_use int virtio_kick(struct virtio *dev, unsigned int q, struct err *err) nonnull_all;

/* True between DRIVER_OK and reset, not broken, and queue q is ready: a device may pop from it. */
must_use bool virtio_live(const struct virtio *dev, unsigned int q) nonnull_all;

/* Tells the driver that queue q has used buffers, if it wants to know. ERR_GUEST or ERR_HOST. */
must_use int virtio_interrupt(struct virtio *dev, unsigned int q, struct err *err) nonnull_all;

/* Marks it broken with err's words; err is empty afterwards. */
void virtio_break(struct virtio *dev, struct err *err) nonnull_all;

/* Registers, queues and ops->save(), for snapshot.h. */
void virtio_save(const struct virtio *dev, struct wire_out *out) nonnull_all;
/* Takes what virtio_save() wrote into a device made by virtio_init(): 0 or ERR_USAGE. */
must_use int virtio_load(struct virtio *dev, struct wire_in *in, struct err *err) nonnull_all;
