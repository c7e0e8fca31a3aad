/* rng.h - entropy device (virtio 1.2, 5.4): getrandom(2), at most RNG_CHUNK bytes a request. */
#pragma once

#include "vmm/virtio.h"

#define RNG_CHUNK 4096u /* a larger request gets fewer bytes (V14) */

struct rng {
    struct virtio dev; /* first */
};

void rng_init(struct rng *rng, const struct gmem *mem, unsigned int slot, int irq_fd) nonnull_all;
