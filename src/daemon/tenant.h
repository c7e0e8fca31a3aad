/*
 * tenant.h - who may ask, and for how much: tokens and quotas.
 *
 *   STATE/daemon/tokens/ID.json    one token: SHA-256 of its secret, the tenant, its quotas
 *
 * A token is "alk_" ID "_" SECRET; the secret is 32 random bytes in base64url and is shown once.
 * Only its digest is kept.  Several tokens may name one tenant; the newest one's quotas count.
 * The daemon reads the directory again when it changed, so a revoked token is refused at once.
 * tenant-file.h has the files themselves.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "daemon/job.h"
#include "image/manifest.h"
#include "job/spec.h"

#define TENANT_IMAGES_MAX 32u
#define TENANT_LOCAL      "local" /* whoever asks where no token is needed */

/* Holds no pointers: copies are copies. */
struct tenant_quota {
    uint64_t concurrent;      /* jobs that run; at least 1 */
    uint64_t queued;          /* jobs that wait; at least 1 */
    uint64_t rate_per_minute; /* jobs accepted; 0 = no limit */
    uint64_t
        rate_burst; /* ... at once, after a quiet time; 0 = as many as in one second, at least 1 */
    uint64_t wall_ns, cpu_ns; /* ceilings of one job's limits; 0 = what airlock can enforce */
    uint64_t memory_bytes;    /* the same */
    uint64_t kept_bytes;      /* of all its jobs together; 0 = no limit */
    char images[TENANT_IMAGES_MAX][IMAGE_NAME_MAX + 1]; /* names it may use; none = all */
    size_t n_images;
    enum spec_isolation isolation; /* weakest class it accepts; EMULATED is an opt-in */
    bool pinned;                   /* images only as NAME@sha256:HEX */
};

/* What a token gets that does not say otherwise; the config may bring others. */
extern const struct tenant_quota tenant_quota_default;

struct tenant {
    char name[JOB_TENANT_SIZE];
    struct tenant_quota quota;
};

/* True for a-z 0-9 '-' '_' '.', first a letter or digit, 1 to JOB_TENANT_SIZE - 1 of them. */
must_use bool tenant_name_ok(const char *name) nonnull_all;

/* Whoever asks without tokens, with these quotas; EMULATED is accepted, as on the command line. */
void tenant_local(const struct tenant_quota *quota, struct tenant *ret) nonnull_all;

/* The tokens of a directory, in memory. */
struct tenants;

struct tenants_config {
    int tokens_fd;                       /* STATE/daemon/tokens; borrowed; -1: there are none */
    const struct tenant_quota *defaults; /* copied; NULL = tenant_quota_default */
    /*
     * Told of each file that is refused, once for each change of it; text is ours, escaped. May be
     * NULL.
     */
    void (*complain)(void *ctx, const char *text);
    void *ctx;
};

/* Loads them. The caller owns *ret. A file that can't be used refuses its token, not the others. */
must_use int tenants_new(const struct tenants_config *config, struct tenants **ret,
                         struct err *err) nonnull_all;
void tenants_free(struct tenants *t);

static inline void tenants_free_p(struct tenants **t)
{
    tenants_free(*t);
}

#define auto_tenants on_scope_exit(tenants_free_p)

/* Other defaults, after a reload of the config. */
void tenants_set_defaults(struct tenants *t, const struct tenant_quota *defaults) nonnull_all;

/*
 * Reads the directory anew if it changed (looked at in each call), or one of its files did (at most
 * once a second of now_ns, monotonic). Where that fails nobody is let in until it works: ERR_HOST.
 */
must_use int tenants_refresh(struct tenants *t, uint64_t now_ns, struct err *err) nonnull_all;

/* True if there is no token file at all. One that can't be used counts: it is no open door. */
must_use bool tenants_empty(const struct tenants *t) nonnull_all;

/*
 * Who has this value of an Authorization header ("Bearer alk_..."; NULL: there was none).
 * Refreshes. 1 and *ret; 0: nobody, and why is not told, nor by the time it takes; ERR_HOST as
 * above.
 */
must_use int tenants_find(struct tenants *t, const char *authorization, uint64_t now_ns,
                          struct tenant *ret, struct err *err) nonnull_args(1, 4, 5);

/*
 * The quotas of a tenant that has tokens, as tenants_find() has them now. 1, or 0 if it has none.
 */
must_use int tenants_by_name(const struct tenants *t, const char *name,
                             struct tenant *ret) nonnull_all;

struct refusal; /* service.h */

/*
 * May this tenant run that? True, or *ret says what not: 403 with the field. Rate, concurrency and
 * kept bytes are no matter of one spec. What the job left open becomes what the tenant is held to:
 * the weakest isolation, and the CPU limit if it gave none.
 */
must_use bool tenant_allows(const struct tenant *tenant, struct spec *spec,
                            struct refusal *ret) nonnull_all;
