/*
 * outputs.h - the output stream of a dead guest: inspected, listed, exported.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "job/spec.h"
#include "sys/digest.h"

struct output_item {
    uint8_t *name; /* bytes, relative path, never NUL inside, NUL-terminated */
    size_t name_len;
    bool is_dir;
    uint64_t bytes;
    uint64_t offset;      /* of its data in the stream file */
    struct digest digest; /* regular files, by outputs_digest() */
};

struct output_dropped {
    uint8_t *name;
    size_t name_len;
    const char *why; /* fixed text: "not a regular file", ... */
};

struct outputs {
    struct output_item *items;
    size_t n_items;
    struct output_dropped *dropped;
    size_t n_dropped;
    uint64_t n_dropped_more; /* dropped too, but past the length of the list */
    uint64_t total_bytes;    /* of items */
};

void outputs_fini(struct outputs *o) nonnull_all;
#define auto_outputs on_scope_exit(outputs_fini)

/*
 * Most bytes all names of one stream may have. With the caps it bounds the memory of a parse, and the
 * length of the result, in which a byte of a name may take more than six.
 */
#define OUTPUTS_NAMES_BYTES (4 * MIB)

/*
 * Parses the stream in fd (from 0, exactly stream_bytes). Call only when the guest is dead, and
 * inside the helper (sup/inspector.h), since all of it comes from the guest.
 * Caps from limits are checked again, whatever the guest said: files and directories count
 * separately against output_files, the components of a path against output_depth. A malformed or
 * truncated stream is ERR_GUEST/-EPROTO. A cap is ERR_LIMIT, the message names limit and entry:
 * -EFBIG output_bytes, -EMFILE output_files, -ENAMETOOLONG output_depth. Later duplicates, what
 * lies below a file or below a directory that was not sent, names no filesystem takes, and special
 * files are dropped with a reason; at most output_files of them are listed, the rest is counted.
 */
must_use int outputs_inspect(int fd, uint64_t stream_bytes, const struct spec_limits *limits,
                             struct outputs *ret, struct err *err) nonnull_all;

/* True if the stream is the end record and nothing else, which takes no parser to see. */
must_use bool outputs_none(int fd, uint64_t stream_bytes);

/* Fills the digests of the files. Hashing reads no structure: it is safe outside of the helper. */
must_use int outputs_digest(int fd, struct outputs *o, struct err *err) nonnull_all;

/*
 * The answer of a helper that inspected: outputs as bytes. outputs_decode() believes nothing: names,
 * counts, sizes and places are checked against limits and stream_bytes anew; a fault is
 * ERR_HOST/-EPROTO, since only a helper that was taken over, or is broken, sends one.
 */
must_use int outputs_encode(const struct outputs *o, struct buf *out, struct err *err) nonnull_all;
must_use int outputs_decode(const uint8_t *data, size_t len, uint64_t stream_bytes,
                            const struct spec_limits *limits, struct outputs *ret,
                            struct err *err) nonnull_all;
/* Most bytes that outputs_encode() makes under these limits. */
size_t outputs_encoded_max(const struct spec_limits *limits) nonnull_all;

/*
 * Writes the outputs below directory dir (created if missing), all or nothing: first completely
 * into a hidden directory inside it, then renamed entry by entry, undone on failure. A file may
 * replace a regular file of the same name and a directory may already be there; any other
 * collision fails with its name (ERR_USAGE/-EEXIST). Names are walked one component at a time,
 * never through a link below dir. Files 0644, directories 0755, owner the caller.
 * ERR_LIMIT/-ENOSPC if the disk is full.
 */
must_use int outputs_export(int stream_fd, const struct outputs *o, const char *dir,
                            const char *machine_id, struct err *err) nonnull_all;

/* Removes the hidden directory that an export of this machine left when it was killed. */
void outputs_export_sweep(const char *dir, const char *machine_id) nonnull_all;

/* Fails early, before anything runs, if dir cannot take outputs (exists as a file, ...). */
must_use int outputs_check_dir(const char *dir, struct err *err) nonnull_all;
