/* build-internal.h - what the builders share. */
#pragma once

#include "image/apt.h"
#include "image/build.h"

void build_step(const struct build_progress *progress, const char *text) nonnull_all;

/* store_lock(), saying so before it waits for another builder. */
must_use int build_lock(const struct store *store, const struct build_progress *progress,
                        int *ret_lock, struct err *err) nonnull_all;

/* A set of just the kernel package that a build would take now. */
must_use int kernel_candidate(const struct apt *apt, struct package_set *ret,
                              struct err *err) nonnull_all;
/* The store's lock is held. Lists older than max_age_s seconds are refreshed. */
must_use int kernel_build_locked(const struct store *store, uint64_t max_age_s,
                                 const struct build_progress *progress,
                                 struct err *err) nonnull_all;

must_use int image_build_locked(const struct store *store, const struct build_request *req,
                                uint64_t max_age_s, const struct build_progress *progress,
                                struct err *err) nonnull_all;

/* A language an image starts from. NULL if name is none. */
struct image_base {
    const char *name;
    const char *const *packages; /* NULL-terminated */
};

const struct image_base *image_base_get(const char *name) nonnull_all;
/* All packages of an image: the base's and extra (NULL = none). Caller frees the array only. */
must_use int image_base_packages(const struct image_base *base, const char *const *extra,
                                 const char ***ret, struct err *err) nonnull_args(1, 3, 4);
