/*
 * apt.h - an apt of our own: lists, archives and configuration under STATE/apt, so no root is
 * needed and the host's apt is never changed. Packages come only from Debian's sources of the
 * host (sources.h) and are verified by apt against Debian's archive keyring.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "image/build.h"
#include "image/manifest.h"
#include "image/store.h"

struct apt {
    char *dir;      /* STATE/apt, absolute */
    char *tmpdir;   /* STATE/tmp, absolute */
    char *env;      /* "APT_CONFIG=STATE/apt/apt.conf" */
    int fd;         /* STATE/apt */
    int archives;   /* STATE/apt/archives */
    char suite[32]; /* the host's release: "bookworm" */
};

#define APT_INIT                 \
    {                            \
        .fd = -1, .archives = -1 \
    }

/* Writes the configuration anew from the host's. ERR_USAGE/-ENOENT: no Debian source is listed. */
must_use int apt_open(const struct store *store, struct apt *ret, struct err *err) nonnull_all;
void apt_fini(struct apt *apt) nonnull_all;
#define auto_apt on_scope_exit(apt_fini)

/* Brings the lists up to date unless they are younger than max_age_s seconds. */
must_use int apt_refresh(const struct apt *apt, uint64_t max_age_s,
                         const struct build_progress *progress, struct err *err) nonnull_all;

/* True if the lists were ever fetched from the sources the host has now. */
must_use bool apt_has_lists(const struct apt *apt) nonnull_all;

/*
 * What installing names (NULL-terminated) into an empty system takes: name, version, architecture
 * and suite of each package, sorted by name, with the SHA-256 of its archive. The set's previous
 * content is dropped.
 */
must_use int apt_resolve(const struct apt *apt, const char *const *names, struct package_set *ret,
                         struct err *err) nonnull_all;

/* Makes sure every archive of the set lies in STATE/apt/archives with the right digest. */
must_use int apt_fetch(const struct apt *apt, const struct package_set *set,
                       struct err *err) nonnull_all;

/* Removes archives that the lists no longer offer. */
must_use int apt_clean(const struct apt *apt, struct err *err) nonnull_all;

/* The archive's file name below STATE/apt/archives. */
#define APT_FILE_MAX 512
void apt_file_name(const struct package *package, char ret[APT_FILE_MAX]) nonnull_all;
