/* jobfiles-internal.h - what the writers, the readers and the removal of a job's files share. */
#pragma once

#include <dirent.h>

#include "daemon/jobfiles.h"

/* One record in the file `events`, in the host's byte order: no other host reads it. */
struct jobfiles_event_wire {
    uint64_t seq;
    uint64_t time_ms;
    uint64_t offset;
    uint64_t len;
    uint64_t aux;
    uint32_t kind;
    uint32_t check; /* of all before; tells a record from a hole that a loss of power left */
};

_Static_assert(sizeof(struct jobfiles_event_wire) == 48, "a record of the event file");

uint32_t jobfiles_check(const struct jobfiles_event_wire *wire) nonnull_all;
/* False if this can't be the record number seq. */
must_use bool jobfiles_event_decode(const struct jobfiles_event_wire *wire, uint64_t seq,
                                    struct jobfiles_event *ret) nonnull_all;

/* NULL for what is no stream. */
const char *jobfiles_stream_name(enum jobfiles_event_kind kind);

/* No room is a limit and passes; all else is the host's trouble. */
must_use int jobfiles_fail(int errnum, const char *what, struct err *err) nonnull_all;

/* A regular file of ours in dirfd, never through a link. */
must_use int jobfiles_open_file(int dirfd, const char *name, int flags, int *ret_fd,
                                struct err *err) nonnull_all;

/*
 * Calls look for everything below dirfd, directories after what is in them, never through a link or
 * into a mount. name is in directory parent_fd. A negative return ends the walk with that.
 */
must_use int jobfiles_walk(int dirfd,
                           int (*look)(void *ctx, int parent_fd, const char *name, struct err *err),
                           void *ctx, struct err *err) nonnull_all;
