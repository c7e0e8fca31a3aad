/*
 * manifest.h - what the store remembers of an image or the guest kernel, as strict JSON.
 *
 * Manifests lie in the operator's state directory, but a damaged or foreign one must not lead
 * anywhere: unknown or missing keys, wrong types, bad digests and names are refused.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "sys/digest.h"

#define MANIFEST_MAX   MIB  /* bytes of JSON */
#define PACKAGES_MAX   500u /* in one image */
#define IMAGE_NAME_MAX 64

struct package {
    char *name, *version, *arch;
    char *suite; /* "Debian-Security:12/oldstable-security": where apt found it */
    struct digest sha256;
};

struct package_set {
    struct package *v; /* sorted by name */
    size_t n;
};

void package_set_fini(struct package_set *set) nonnull_all;
#define auto_package_set on_scope_exit(package_set_fini)
/* Appends copies of the strings. ERR_LIMIT past PACKAGES_MAX. */
must_use int package_set_add(struct package_set *set, const struct package *package,
                             struct err *err) nonnull_all;
void package_set_sort(struct package_set *set) nonnull_all;
/* NULL if it is not there. Borrowed. */
const struct package *package_set_get(const struct package_set *set, const char *name) nonnull_all;
/* True if the archive that offers it is Debian's security archive. */
bool package_is_security(const struct package *package) nonnull_all;

struct object {
    struct digest digest;
    uint64_t bytes;
};

struct image_manifest {
    char *name;
    char *from;       /* "python" or "javascript" */
    char **requested; /* further packages asked for, NULL-terminated; NULL = none */
    uint64_t created; /* seconds since 1970 */
    struct object root;
    struct package_set packages;
};

struct kernel_manifest {
    struct package package;
    uint64_t created;
    struct object vmlinuz, modules, initramfs;
    struct digest agent; /* SHA-256 of the guest agent inside initramfs */
};

void image_manifest_fini(struct image_manifest *m) nonnull_all;
#define auto_image_manifest on_scope_exit(image_manifest_fini)
void kernel_manifest_fini(struct kernel_manifest *m) nonnull_all;
#define auto_kernel_manifest on_scope_exit(kernel_manifest_fini)

/* Errors are ERR_USAGE/-EBADMSG and say what was wrong, not where the text came from. */
must_use int image_manifest_parse(const struct buf *json, struct image_manifest *ret,
                                  struct err *err) nonnull_all;
must_use int kernel_manifest_parse(const struct buf *json, struct kernel_manifest *ret,
                                   struct err *err) nonnull_all;
must_use int image_manifest_print(const struct image_manifest *m, struct buf *out,
                                  struct err *err) nonnull_all;
must_use int kernel_manifest_print(const struct kernel_manifest *m, struct buf *out,
                                   struct err *err) nonnull_all;

/* ^[a-z0-9][a-z0-9._-]{0,63}$ */
must_use bool image_name_is_valid(const char *name) nonnull_all;
/* A Debian package name: [a-z0-9][a-z0-9+.-]+ */
must_use bool package_name_is_valid(const char *name) nonnull_all;
