/*
 * squash.h - writes the input image: a squashfs of prog/ and in/ with nothing compressed.
 *
 * File data goes to the descriptor as it comes, one file after the other; only names and sizes are
 * kept in memory. libsquashfs writes the metadata. Same names and bytes, same image.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

enum squash_dir {
    SQUASH_IN,
    SQUASH_PROG,
};

#define SQUASH_PATH_MAX 4096u

struct squash_entry {
    enum squash_dir dir;
    const char *name; /* path below dir; borrowed until squash_finish() */
    bool is_dir;
    uint64_t start; /* of its data in the image */
    uint64_t bytes;
    uint64_t inode_ref;
};

struct squash {
    int fd;         /* borrowed, empty at first */
    uint64_t at;    /* end of the image so far */
    uint64_t start; /* where the file being written began */
    uint64_t max;   /* most bytes the image may have */
    struct squash_entry *entries;
    size_t n_entries;
};

void squash_init(struct squash *squash, int fd, uint64_t max_bytes) nonnull_all;
void squash_fini(struct squash *squash) nonnull_all;
#define auto_squash on_scope_exit(squash_fini)

/* Data of the next file. ERR_LIMIT/-ENOSPC if the disk is full, ERR_LIMIT/-EFBIG over max. */
must_use int squash_write(struct squash *squash, const void *data, size_t len,
                          struct err *err) nonnull_all;
/*
 * All written since the last call becomes file name (a path without empty parts, unique in dir,
 * borrowed). The directories in it must be added too, by squash_add_dir(), before or after.
 */
must_use int squash_end_file(struct squash *squash, enum squash_dir dir, const char *name,
                             struct err *err) nonnull_all;
must_use int squash_add_dir(struct squash *squash, enum squash_dir dir, const char *name,
                            struct err *err) nonnull_all;
/* Writes the metadata and the superblock; the image is complete. Errors as squash_write(). */
must_use int squash_finish(struct squash *squash, struct err *err) nonnull_all;
