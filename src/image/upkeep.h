/* upkeep.h - are images and kernel intact, and are they still what Debian's archive offers? */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "image/build.h"
#include "image/store.h"

/* Reads manifest and objects of an image ("kernel" is the guest kernel) and compares digests. */
must_use int upkeep_verify(const struct store *store, const char *name,
                           struct err *err) nonnull_all;

/* store_remove() under the lock. */
must_use int upkeep_remove(const struct store *store, const char *name,
                           const struct build_progress *progress, struct err *err) nonnull_all;

/* One package of an image that the archive has another version of. */
struct outdated_package {
    char *image; /* "kernel", "python", ... */
    char *package;
    char *have; /* version; "" = a dependency that is new */
    char *available;
    bool security; /* the new one comes from Debian's security archive */
};

struct outdated {
    struct outdated_package *v;
    size_t n;
};

void outdated_fini(struct outdated *outdated) nonnull_all;
#define auto_outdated on_scope_exit(outdated_fini)

/*
 * Compares everything built with the archive. With refresh the lists are fetched first (network),
 * else those of the last build or check are used: ERR_USAGE/-ENOENT if there are none.
 */
must_use int upkeep_outdated(const struct store *store, bool refresh,
                             const struct build_progress *progress, struct outdated *ret,
                             struct err *err) nonnull_all;

/*
 * Rebuilds what is outdated, beside the old, and swaps atomically; machines that run keep what they
 * opened. *ret_n is the number of things rebuilt.
 */
must_use int upkeep_update(const struct store *store, const struct build_progress *progress,
                           size_t *ret_n, struct err *err) nonnull_all;
