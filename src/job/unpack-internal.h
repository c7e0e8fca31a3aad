/* unpack-internal.h - what the files of unpack.c share. */
#pragma once

#include "job/text.h"
#include "job/unpack.h"

/* The entries as they come, before unpack_settle() sorts and compares them. */
struct unpack_list {
    struct unpacked_entry *entries;
    size_t n;
    size_t cap;
    uint64_t names; /* bytes of all */
    uint64_t n_files;
    uint64_t n_dirs;
};

void unpack_list_fini(struct unpack_list *list) nonnull_all;

/* A copy of name; ERR_USAGE when all names together are too long. bytes and offset are set later. */
must_use int unpack_list_add(struct unpack_list *list, const uint8_t *name, size_t len, bool is_dir,
                             struct unpacked_entry **ret, struct err *err) nonnull_all;

/*
 * Adds the directories that are only implied, sorts, and refuses what stands twice or lies below a
 * file. The entries move to *ret.
 */
must_use int unpack_settle(struct unpack_list *list, const struct unpack_budget *budget,
                           struct unpacked *ret, struct err *err) nonnull_all;

/*
 * A second look at a tar stream, beside libarchive's, at what that forgives: form of header and pax
 * records, sizes, kinds of entries, what follows the end.
 */
struct tar_guard {
    enum {
        TAR_HEADER,
        TAR_BODY,
        TAR_END
    } state;

    uint8_t block[512]; /* the header being collected */
    size_t have;
    uint64_t left;     /* bytes of the body and its padding still to come */
    uint64_t max_size; /* most bytes an entry may declare */
    uint8_t kind;
    uint8_t *record; /* the body of a pax or long name header, and nothing else */
    size_t record_len;
    size_t record_size;
    struct text name; /* of the entry, for messages */
    bool named;       /* by a record before its header */
};

void tar_guard_fini(struct tar_guard *g) nonnull_all;
/* Errors are ERR_USAGE. */
must_use int tar_guard_feed(struct tar_guard *g, const uint8_t *data, size_t len,
                            struct err *err) nonnull_all;
must_use int tar_guard_finish(const struct tar_guard *g, struct err *err) nonnull_all;
