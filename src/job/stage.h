/*
 * stage.h - inputs into a read-only image, and an empty scratch filesystem.
 *
 * The input image is an uncompressed squashfs with two directories: prog/ (the program file, if
 * any) and in/ (the input files and what an archive of the job holds), all owned by root, files 0444, directories 0555, times 0.
 * Both images are unnamed files: nothing to clean up, whatever happens.
 */
#pragma once

#include <sys/stat.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "job/spec.h"
#include "job/text.h"
#include "job/unpack.h"
#include "proto/msg.h"
#include "sys/digest.h"

/* What was staged, for the result: sizes and digests, not contents. */
struct stage_item {
    char *name; /* of one from an archive: a path, any bytes */
    bool is_dir;
    uint64_t bytes;
    struct digest digest;
};

struct stage {
    int input_fd;   /* squashfs if stage_has_input(), padded to STAGE_INPUT_DEVICE_BYTES (sparse) */
    int write_fd;   /* the same file, while it is to be filled; then -1 */
    int scratch_fd; /* ext4 of exactly limits.disk_bytes in a file of STAGE_SCRATCH_DEVICE_BYTES */
    /* The filesystem that is there already, or comes with the machine's saved state; 0 = none. */
    uint64_t made_bytes, made_inodes;
    struct buf program_data;   /* the program, if it is short: JOB can carry it */
    struct stage_item program; /* name NULL: none */
    struct stage_item *inputs;
    size_t n_inputs;
    uint64_t input_bytes; /* sum, the program included */
};

/* Device sizes never depend on the job (design.md, "clones"): sparse files of these sizes. */
#define STAGE_INPUT_DEVICE_BYTES   (4 * GIB)
#define STAGE_SCRATCH_DEVICE_BYTES (16 * GIB)

#define STAGE_INIT                                        \
    {                                                     \
        .input_fd = -1, .write_fd = -1, .scratch_fd = -1, \
        .program_data = BUF_INIT(MSG_PROGRAM_MAX)         \
    }
void stage_fini(struct stage *stage) nonnull_all;
#define auto_stage on_scope_exit(stage_fini)

/*
 * Is there anything on the input device that the guest mounts? Not of a short program alone, which goes
 * with JOB; then the device holds no filesystem.
 */
must_use bool stage_has_input(const struct stage *stage, const struct spec *spec) nonnull_all;

/*
 * Inodes that the agent itself takes from the scratch filesystem (the directories behind /work,
 * /out, /tmp and /var/tmp, the program's copy); limits.inodes come on top of them.
 */
#define STAGE_AGENT_INODES 8u

/* Asked between two pieces of an input; a failure ends the staging and is returned. */
struct stage_watch {
    int (*check)(void *ctx, struct err *err);
    void *ctx;
};

/* What came out of the archive of the job, if it has one. */
struct stage_archive {
    const struct unpacked *entries;
    int data_fd; /* what they have of data; borrowed */
};

/*
 * The two devices, empty, as unnamed files in tmp_dirfd. A machine may have them from here on: what
 * stage_fill() writes is there for it at once (they share the page cache), as long as its guest has
 * not looked.
 */
must_use int stage_open(int tmp_dirfd, struct stage *ret, struct err *err) nonnull_all;

/* The scratch filesystem will come with the saved state of the machine: stage_fill() makes none. */
void stage_expect_scratch(const struct spec_limits *limits, struct stage *stage) nonnull_all;

/*
 * Makes the scratch filesystem ahead of its job, for limits that it will probably have: stage_fill()
 * makes it anew only for other ones.
 */
must_use int stage_make_scratch(const struct spec_limits *limits, int tmp_dirfd,
                                struct stage *stage, struct err *err) nonnull_all;

/*
 * Fills open devices, once; after a failure they are good for nothing.
 * archive is NULL without one, and watch may be NULL. tmp_dirfd: directory on the state filesystem for unnamed files. Opens every input without
 * following links, regular files only; a file that changes while it is read, or totals over
 * limits, are refused, as are setuid and setgid files, files of strangers (neither the caller's nor
 * root's) that everybody can write or that have more than one name: ERR_USAGE for what the caller can mend, ERR_LIMIT/-ENOSPC when the disk is
 * full, ERR_HOST otherwise. The message names the file.
 */
must_use int stage_fill(const struct spec *spec, const struct stage_archive *archive, int tmp_dirfd,
                        const struct stage_watch *watch, struct stage *stage, struct err *err)
    nonnull_args(1, 5, 6);

/* Both at once: *ret is filled on success only. */
must_use int stage_build(const struct spec *spec, const struct stage_archive *archive,
                         int tmp_dirfd, const struct stage_watch *watch, struct stage *ret,
                         struct err *err) nonnull_args(1, 5, 6);

/*
 * The archive of the job, to be unpacked: the caller's file, opened and checked like any input
 * (ERR_USAGE), or an unnamed one with the inline bytes. *ret_fd (owned) can only be read; ret_stat
 * is what it was like, for stage_archive_unchanged() afterwards, which refuses one that was changed.
 */
must_use int stage_open_archive(const struct spec *spec, int tmp_dirfd, int *ret_fd,
                                struct stat *ret_stat, struct err *err) nonnull_all;
must_use int stage_archive_unchanged(const struct spec *spec, int fd, const struct stat *before,
                                     struct err *err) nonnull_all;
/* "the archive 'FILE'", for messages. */
struct text stage_archive_text(const struct spec *spec) nonnull_all;

/* What unpacking it may produce. */
struct unpack_budget stage_archive_budget(const struct spec *spec) nonnull_all;
