/*
 * store.h - the state directory: content-addressed objects, manifests, locks, temporary files.
 *
 *   STATE/objects/HEX        root images, kernels, module archives, initramfs; 0444, named by SHA-256
 *   STATE/images/NAME.json   manifest: what image NAME is now (written atomically)
 *   STATE/kernel.json        the same for the guest kernel
 *   STATE/tmp/               work in progress; whoever holds the build lock may empty it
 *   STATE/lock               flock()ed while images are built or removed
 *   STATE/memo/              what need not be found out twice: sys/memo.h
 *   STATE/templates/, slots/, records/: sup/template.h, sup/ledger.h, sup/records.h
 *
 * Default: /var/lib/airlock as root, $XDG_DATA_HOME/airlock or ~/.local/share/airlock otherwise.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "image/manifest.h"
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
 * stays -1). Every object is hashed and compared before use, unless that was done since the file
 * last changed (sys/memo.h). ERR_USAGE/-ENOENT if the image or the kernel was never built (the
 * message says how to), ERR_USAGE/-EBADMSG if an object does not match its digest (corrupt).
 */
must_use int store_open_boot(const struct store *store, const char *image, struct store_boot *ret,
                             struct err *err) nonnull_args(1, 3, 4);

/*
 * The build lock: whoever holds it may build, remove and empty STATE/tmp (done here). With wait
 * false -EWOULDBLOCK (ERR_LIMIT) if somebody else has it. Closing *ret_lock releases it.
 */
must_use int store_lock(const struct store *store, bool wait, int *ret_lock,
                        struct err *err) nonnull_all;

/* Absolute path of STATE/name in a new string. */
must_use int store_path(const struct store *store, const char *name, char **ret,
                        struct err *err) nonnull_all;

/*
 * Makes STATE/tmp/name an object: hashed, flushed, made read-only, moved to its place. The lock is
 * held by the caller.
 */
must_use int store_put(const struct store *store, const char *name, struct object *ret,
                       struct err *err) nonnull_all;

/*
 * Opens an object read-only after comparing size and digest, whatever is remembered. what and
 * remedy are for messages.
 */
must_use int store_open_object(const struct store *store, const struct object *object,
                               const char *what, const char *remedy, int *ret_fd,
                               struct err *err) nonnull_all;

/* -ENOENT (never built) and -EBADMSG (damaged) are ERR_USAGE and say how to build it. */
must_use int store_read_image(const struct store *store, const char *name,
                              struct image_manifest *ret, struct err *err) nonnull_all;
must_use int store_read_kernel(const struct store *store, struct kernel_manifest *ret,
                               struct err *err) nonnull_all;
/* Atomic; what was there before stays until then. */
must_use int store_write_image(const struct store *store, const struct image_manifest *m,
                               struct err *err) nonnull_all;
must_use int store_write_kernel(const struct store *store, const struct kernel_manifest *m,
                                struct err *err) nonnull_all;

/* Names of all images with a manifest (even a damaged one), sorted, NULL-terminated. */
must_use int store_list(const struct store *store, char ***ret, struct err *err) nonnull_all;
void store_list_free_p(char ***list) nonnull_all;
#define auto_store_list on_scope_exit(store_list_free_p)

/* Removes the manifest ("kernel" is the guest kernel's), then store_collect(). Lock held. */
must_use int store_remove(const struct store *store, const char *name, struct err *err) nonnull_all;

/*
 * Removes objects no manifest names. Does nothing while a manifest is damaged, as what it named is
 * not known. Lock held.
 */
must_use int store_collect(const struct store *store, struct err *err) nonnull_all;
