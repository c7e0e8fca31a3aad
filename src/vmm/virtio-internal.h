/* virtio-internal.h - what the transport and its saved state both know. */
#pragma once

#include "vmm/virtio.h"

/* Device status (virtio 1.2, 2.1). */
#define VIRTIO_STATUS_ACKNOWLEDGE 1u
#define VIRTIO_STATUS_DRIVER      2u
#define VIRTIO_STATUS_DRIVER_OK   4u
#define VIRTIO_STATUS_FEATURES_OK 8u
#define VIRTIO_STATUS_NEEDS_RESET 64u
#define VIRTIO_STATUS_FAILED      128u

#define VIRTIO_F_VERSION_1 (1ull << 32)

/* Interrupt status (4.2.2.1). */
#define VIRTIO_INT_QUEUE  1u
#define VIRTIO_INT_CONFIG 2u

/* A status that a driver may write: known bits, none without the step before it (3.1.1). */
must_use bool virtio_status_sound(uint32_t status);
/* The driver took nothing that was not offered, and took what it must. */
must_use bool virtio_features_sound(const struct virtio *dev) nonnull_all;
