/*
 * build.h - builds the guest kernel and the root images from the host's Debian archives.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "image/store.h"

/* Progress lines for people, one call a step. ctx is the caller's. */
struct build_progress {
    void (*step)(void *ctx, const char *text);
    void *ctx;
};

struct build_request {
    const char *name;            /* image to make */
    const char *from;            /* "python", "javascript"; NULL: name itself is built in */
    const char *const *packages; /* further Debian packages, NULL-terminated, or NULL */
};

/* The guest kernel: downloaded by apt (which verifies it), unpacked, initramfs made. */
must_use int build_kernel(struct store *store, const struct build_progress *progress,
                          struct err *err) nonnull_all;
must_use int build_image(struct store *store, const struct build_request *req,
                         const struct build_progress *progress, struct err *err) nonnull_all;

/*
 * What `airlock run` calls first: builds the kernel and the built-in image when they were never
 * built (name may carry @sha256:, which is not built but only checked), and refreshes the
 * initramfs when this binary carries another guest agent. Does nothing when all is there.
 */
must_use int build_ensure(struct store *store, const char *image,
                          const struct build_progress *progress, struct err *err) nonnull_all;
