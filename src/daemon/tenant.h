/*
 * tenant.h - who may ask, and for how much: tokens and quotas.
 *
 *   STATE/daemon/tokens/ID.json    one token: SHA-256 of its secret, the tenant, its quotas
 *
 * A token is "alk_" ID "_" SECRET; the secret is 32 random bytes in base64url and is shown once.
 * Only its digest is kept.  Several tokens may name one tenant; the newest one's quotas count.
 * The daemon reads the directory again when it changed, so a revoked token is refused at once.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "daemon/job.h"
#include "job/spec.h"

#define TENANT_IMAGES_MAX 32u
#define TENANT_LOCAL      "local" /* whoever asks where no token is needed */

struct tenant_quota {
    uint64_t concurrent;      /* jobs that run */
    uint64_t queued;          /* jobs that wait */
    uint64_t rate_per_minute; /* jobs accepted; 0 = no limit */
    uint64_t rate_burst;      /* ... at once, after a quiet time */
    uint64_t wall_ns, cpu_ns; /* ceilings of one job's limits; 0 = what airlock can enforce */
    uint64_t memory_bytes;    /* the same */
    uint64_t kept_bytes;      /* of all its jobs together */
    char *images[TENANT_IMAGES_MAX]; /* names it may use; none = all */
    size_t n_images;
    enum spec_isolation isolation; /* weakest class it accepts; EMULATED is an opt-in */
    bool pinned;                   /* images only as NAME@sha256:HEX */
};

struct tenant {
    char name[JOB_TENANT_SIZE];
    struct tenant_quota quota;
};
