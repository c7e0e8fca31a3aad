/*
 * unpack.h - the entries of one archive, checked: tar (plain, gzip, zstd) or zip, by libarchive.
 *
 * Which one it is shows in its first bytes, not in its name. All of it comes from a stranger: run
 * it inside the helper only (sup/inspector.h). Only regular files and directories with plain
 * relative names come out; modes, owners and times are not looked at. Names are bytes.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#define UNPACK_PATH_MAX    1024u
#define UNPACK_DEPTH_MAX   32u
#define UNPACK_NAMES_BYTES (16 * MIB) /* of all names together */
/* A bomb: more bytes out than this many times those in, once there are UNPACK_RATIO_FLOOR. */
#define UNPACK_RATIO       200u
#define UNPACK_RATIO_FLOOR MIB

/* Part of a file, read by pread. */
struct unpack_source {
    int fd; /* borrowed */
    uint64_t offset;
    uint64_t bytes;
};

struct unpack_budget {
    uint64_t bytes;   /* of all files */
    uint64_t entries; /* files; and as many directories */
    uint64_t depth;   /* parts of a path */
    bool tar_only;
};

struct unpacked_entry {
    uint8_t *name; /* bytes, relative path, NUL-terminated; see outar_name_ok() */
    size_t name_len;
    bool is_dir;
    uint64_t bytes;
    uint64_t offset; /* of its data in the data file */
};

/* Sorted by name; every directory above an entry is an entry. */
struct unpacked {
    struct unpacked_entry *entries;
    size_t n;
    uint64_t total_bytes;
};

void unpacked_fini(struct unpacked *u) nonnull_all;
#define auto_unpacked on_scope_exit(unpacked_fini)

/*
 * What unpack() needs of the process, before a filter forbids to open files: libarchive, the
 * character set in which it leaves names alone, and a time zone that is no file. Changes LC_CTYPE and
 * TZ.
 */
must_use int unpack_prepare(struct err *err) nonnull_all;

/*
 * Reads the whole archive. File data goes to data_fd one after the other; with -1 it is only
 * checked. What is wrong with the archive is ERR_USAGE, naming entry and rule; a full disk
 * ERR_LIMIT/-ENOSPC; the rest ERR_HOST.
 */
must_use int unpack(const struct unpack_source *source, const struct unpack_budget *budget,
                    int data_fd, struct unpacked *ret, struct err *err) nonnull_all;

/* The answer of a helper that unpacked: decoded without belief, as outputs_decode() does. */
must_use int unpacked_encode(const struct unpacked *u, struct buf *out,
                             struct err *err) nonnull_all;
must_use int unpacked_decode(const uint8_t *data, size_t len, uint64_t data_bytes,
                             const struct unpack_budget *budget, struct unpacked *ret,
                             struct err *err) nonnull_all;
size_t unpacked_encoded_max(const struct unpack_budget *budget) nonnull_all;
