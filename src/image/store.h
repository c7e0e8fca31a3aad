/*
 * store.h - the state directory: content-addressed objects, manifests, locks, temporary files.
 *
 *   STATE/objects/HEX        root images, kernels, module archives, initramfs; 0444, named by SHA-256
 *   STATE/images/NAME.json   manifest: what image NAME is now (written atomically)
 *   STATE/kernel.json        the same for the guest kernel
 *   STATE/tmp/               work in progress; whoever holds the build lock may empty it
 *   STATE/lock               flock()ed while images are built or removed
 *
 * Default: /var/lib/airlock as root, $XDG_DATA_HOME/airlock or ~/.local/share/airlock otherwise.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "sys/digest.h"

struct store {
    char *path;
    int dirfd;
    int tmpfd; /* STATE/tmp */
};

#define STORE_INIT               \
    {                            \
        .dirfd = -1, .tmpfd = -1 \
    }

/* path NULL = the default. Creates what is missing (0700 for STATE). */
must_use int store_open(const char *path, struct store *ret, struct err *err) nonnull_args(2, 3);
void store_fini(struct store *store) nonnull_all;
#define auto_store on_scope_exit(store_fini)

/* What a machine boots: descriptors opened read-only and digests verified against the manifests. */
struct store_boot {
    int kernel_fd;
    int initramfs_fd;
    int root_fd; /* squashfs */
    struct digest kernel, initramfs, root;
    char *kernel_version; /* Debian package version */
    char *image;          /* name */
};

#define STORE_BOOT_INIT                                    \
    {                                                      \
        .kernel_fd = -1, .initramfs_fd = -1, .root_fd = -1 \
    }
void store_boot_fini(struct store_boot *boot) nonnull_all;
#define auto_store_boot on_scope_exit(store_boot_fini)

/*
 * Opens kernel, initramfs and the image (NAME or NAME@sha256:HEX; NULL: the kernel alone, root_fd
 * stays -1). Every object is hashed and compared before use. ERR_USAGE/-ENOENT if the image or the kernel was never built (the message
 * says how to), ERR_USAGE/-EBADMSG if an object does not match its digest (corrupt).
 */
must_use int store_open_boot(const struct store *store, const char *image, struct store_boot *ret,
                             struct err *err) nonnull_args(1, 3, 4);
