/*
 * jobfiles.h - the bytes of a job: one directory below STATE/daemon/jobs, named by its id.
 *
 *   spec         the encoded specification (job/spec-wire.h); removed when the job has ended
 *   stdout, stderr   what the program wrote, as it came
 *   events       fixed records (struct jobfiles_event_wire): the n-th has sequence number n, from 1
 *   result.json  the result of `airlock run --json`, streams without data
 *   out/         the output files, there only after verdict `success`
 *
 * Names in here are ours but those below out/, which are looked up without following links.
 * All of it is 0600 / 0700 and the daemon user's own.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "daemon/job.h"

enum jobfiles_event_kind {
    JOBFILES_STATE = 1, /* aux: enum job_state */
    JOBFILES_STDOUT,    /* offset and len: bytes of that file */
    JOBFILES_STDERR,
    JOBFILES_RESULT, /* result.json is there; the last event */
};

struct jobfiles_event {
    uint64_t seq;     /* from 1 */
    uint64_t time_ms; /* real time */
    enum jobfiles_event_kind kind;
    uint64_t offset, len;
    uint64_t aux;
};

/* Open for appending: a job that is not over. */
struct jobfiles {
    int dirfd, stdout_fd, stderr_fd, events_fd; /* owned; -1 = not open */
    uint64_t seq, stdout_bytes, stderr_bytes;
};

#define JOBFILES_INIT                                                   \
    {                                                                   \
        .dirfd = -1, .stdout_fd = -1, .stderr_fd = -1, .events_fd = -1, \
    }

/* jobs_fd: STATE/daemon/jobs. Makes the directory and its files. -ENOSPC/-EDQUOT are ERR_LIMIT. */
must_use int jobfiles_create(int jobs_fd, const char *id, struct jobfiles *ret,
                             struct err *err) nonnull_all;
/* Of an existing one, after a restart: a record that was not written whole is cut off. */
must_use int jobfiles_open(int jobs_fd, const char *id, struct jobfiles *ret,
                           struct err *err) nonnull_all;
void jobfiles_fini(struct jobfiles *f) nonnull_all;

must_use int jobfiles_put_state(struct jobfiles *f, enum job_state state,
                                struct err *err) nonnull_all;
/* kind: JOBFILES_STDOUT or JOBFILES_STDERR. */
must_use int jobfiles_put_stream(struct jobfiles *f, enum jobfiles_event_kind kind,
                                 const void *data, size_t len, struct err *err) nonnull_all;
/* Atomically; then the JOBFILES_RESULT event. */
must_use int jobfiles_put_result(struct jobfiles *f, const void *json, size_t len,
                                 struct err *err) nonnull_all;

/* Readers, on a directory (service_files()): at most max events after sequence number `after`. */
must_use int jobfiles_events(int dirfd, uint64_t after, struct jobfiles_event *ret, size_t max,
                             size_t *ret_n, struct err *err) nonnull_all;
/* Up to len bytes of a stream from offset; *ret_len 0 at its end. */
must_use int jobfiles_stream(int dirfd, enum jobfiles_event_kind kind, uint64_t offset, void *data,
                             size_t len, size_t *ret_len, struct err *err) nonnull_all;
must_use int jobfiles_result(int dirfd, struct buf *ret, struct err *err) nonnull_all;
/* One output by its name in the result (may have '/'); regular files only, ERR_USAGE/-ENOENT. */
must_use int jobfiles_output(int dirfd, const char *name, int *ret_fd, uint64_t *ret_bytes,
                             struct err *err) nonnull_all;

/* Removes the whole directory; wipe: file contents are overwritten and flushed before. */
must_use int jobfiles_remove(int jobs_fd, const char *id, bool wipe, struct err *err) nonnull_all;
/* Bytes that its files take on the disk. */
must_use int jobfiles_bytes(int dirfd, uint64_t *ret, struct err *err) nonnull_all;
