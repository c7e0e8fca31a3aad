#include "vmm/dev/rng.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define DEVICE_ID 4u

static int serve(struct virtio *dev, unsigned int q, const struct virtq_chain *c, struct err *err)
{
    uint8_t data[RNG_CHUNK];
    size_t len = c->in_bytes < sizeof(data) ? (size_t)c->in_bytes : sizeof(data);
    ssize_t got = -1;
    int r = 0;

    if (c->n_out > 0 || len == 0) {
        return err_guest(err, "a buffer that cannot be written");
    }
    do {
        got = getrandom(data, len, 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return err_sys(err, "entropy device: no random bytes");
    }
    if (virtq_chain_write(c, dev->mem, 0, data, (size_t)got) != got) {
        r = err_guest(err, "a buffer is not in RAM");
    }
    explicit_bzero(data, sizeof(data));
    return r < 0 ? r : virtq_push(&dev->queues[q], dev->mem, c->head, (uint32_t)got, err);
}

static int rng_kick(struct virtio *dev, unsigned int q, struct err *err)
{
    struct virtq_chain c;
    unsigned int n = 0;
    int r = 0;

    while (n < VIRTIO_BUDGET) {
        r = virtq_pop(&dev->queues[q], dev->mem, &c, err);
        if (r <= 0) {
            break;
        }
        r = serve(dev, q, &c, err);
        if (r < 0) {
            break;
        }
        n++;
    }
    if (r >= 0 && n > 0) {
        r = virtio_interrupt(dev, q, err);
    }
    return r < 0 ? r : n == VIRTIO_BUDGET;
}

static const struct virtio_ops ops = {
    .name = "entropy device",
    .device_id = DEVICE_ID,
    .n_queues = 1,
    .kick = rng_kick,
};

void rng_init(struct rng *rng, const struct gmem *mem, unsigned int slot, int irq_fd)
{
    virtio_init(&rng->dev, &ops, mem, slot, irq_fd);
}
