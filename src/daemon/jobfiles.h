/*
 * jobfiles.h - the bytes of a job: one directory below STATE/daemon/jobs, named by its id.
 *
 *   spec         the encoded specification (job/spec-wire.h); overwritten when the job has ended
 *   stdout, stderr   what the program wrote, as it came
 *   events       fixed records (struct jobfiles_event_wire): the n-th has sequence number n, from 1
 *   result.json  the result of `airlock run --json`, streams without data
 *   out/         the output files, there only after verdict `success`
 *
 * Names in here are ours but those below out/, which are looked up without following links.
 * All of it is 0600 / 0700 and the daemon user's own.
 *
 * A call that fails changed nothing that a reader is told of; no room is ERR_LIMIT (-ENOSPC, -EDQUOT,
 * -EFBIG), and the same call works once there is some. After kill -9 everything is there for which a
 * call returned 0; what a loss of power may take is in docs/decisions/0032.
 *
 * The event file is bounded whatever the program does: from JOBFILES_EVENTS_MAX records on, bytes of
 * a stream wait for their record until there are JOBFILES_LATE_BYTES of them and a 64th of that
 * stream, or until the next state or the result. Records never change and leave nothing out; readers
 * hear of bytes later then.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "daemon/job.h"

#define JOBFILES_EVENTS_MAX  65536u
#define JOBFILES_LATE_BYTES  (64 * KIB)
#define JOBFILES_OUTPUT_NAME 4096u /* most bytes of an output's name */

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
    uint64_t stdout_noted, stderr_noted; /* bytes that records speak of */
    int state; /* enum job_state of the last record that has one; -1 = none */
    bool over; /* the result is there: nothing can be added, ERR_USAGE/-EALREADY */
    bool sync; /* the caller's: specification and result are flushed to the disk when put */
};

#define JOBFILES_INIT                                                                \
    {                                                                                \
        .dirfd = -1, .stdout_fd = -1, .stderr_fd = -1, .events_fd = -1, .state = -1, \
    }

/* Opens, or makes, STATE/daemon/jobs; -EPERM (ERR_HOST) if others own it or may write it. */
must_use int jobfiles_open_jobs(int daemon_fd, int *ret_fd, struct err *err) nonnull_all;

/* jobs_fd: STATE/daemon/jobs. Makes the directory and its files. -ENOSPC/-EDQUOT are ERR_LIMIT. */
must_use int jobfiles_create(int jobs_fd, const char *id, struct jobfiles *ret,
                             struct err *err) nonnull_all;
/* Of an existing one, after a restart: a record that was not written whole is cut off. */
must_use int jobfiles_open(int jobs_fd, const char *id, struct jobfiles *ret,
                           struct err *err) nonnull_all;
void jobfiles_fini(struct jobfiles *f) nonnull_all;
#define auto_jobfiles on_scope_exit(jobfiles_fini)

/* The specification, once, before the job is in the store. */
must_use int jobfiles_put_spec(struct jobfiles *f, const void *data, size_t len,
                               struct err *err) nonnull_all;
/* Read-only, the caller owns *ret_fd. -ENOENT (ERR_HOST) if it was dropped or never put. */
must_use int jobfiles_spec(int dirfd, int *ret_fd, struct err *err) nonnull_all;
/*
 * When the job has ended: nobody finds it any more, and jobfiles_sweep() overwrites and removes it.
 * *ret_bytes: its length. Missing is fine, and has none.
 */
must_use int jobfiles_drop_spec(int jobs_fd, const char *id, uint64_t *ret_bytes,
                                struct err *err) nonnull_all;

/* Nothing new if it is the state already, so that who must try again may. */
must_use int jobfiles_put_state(struct jobfiles *f, enum job_state state,
                                struct err *err) nonnull_all;
/* kind: JOBFILES_STDOUT or JOBFILES_STDERR. Two writes and no flush. */
must_use int jobfiles_put_stream(struct jobfiles *f, enum jobfiles_event_kind kind,
                                 const void *data, size_t len, struct err *err) nonnull_all;
/* Atomically; then the JOBFILES_RESULT event. */
must_use int jobfiles_put_result(struct jobfiles *f, const void *json, size_t len,
                                 struct err *err) nonnull_all;

/* Readers, on a directory (service_files()): at most max events after sequence number `after`, which
 * may be any number. ERR_HOST/-EUCLEAN if the file is damaged. */
must_use int jobfiles_events(int dirfd, uint64_t after, struct jobfiles_event *ret, size_t max,
                             size_t *ret_n, struct err *err) nonnull_all;
/* Up to len bytes of a stream from offset, any number: how many, 0 at its end. */
must_use ssize_t jobfiles_stream(int dirfd, enum jobfiles_event_kind kind, uint64_t offset,
                                 void *data, size_t len, struct err *err) nonnull_all;
/* Appends to ret. ERR_USAGE/-ENOENT if there is none yet. */
must_use int jobfiles_result(int dirfd, struct buf *ret, struct err *err) nonnull_all;
/* One output by its name in the result (may have '/'); regular files only, ERR_USAGE/-ENOENT. */
must_use int jobfiles_output(int dirfd, const char *name, int *ret_fd, uint64_t *ret_bytes,
                             struct err *err) nonnull_all;

/*
 * Removes the whole directory; wipe: file contents are overwritten and flushed before (what a disk
 * or a file system keeps of older blocks is beyond it). Missing is fine. Takes as long as the disk
 * does: may run in another thread, one removal at a time in one jobs_fd.
 */
must_use int jobfiles_remove(int jobs_fd, const char *id, bool wipe, struct err *err) nonnull_all;
/* The fast first step of it: nobody finds the job's directory any more. jobfiles_sweep() goes on. */
must_use int jobfiles_discard(int jobs_fd, const char *id, bool wipe, struct err *err) nonnull_all;
/* True while what was discarded with wipe, or the specification, is still there to be overwritten. */
must_use bool jobfiles_wiping(int jobs_fd, const char *id) nonnull_all;

struct jobfiles_swept {
    uint64_t orphans;   /* directories of jobs that nobody knows, discarded */
    uint64_t leftovers; /* removals that were not finished */
    uint64_t foreign;   /* what is not ours: left alone */
};

/*
 * Looks at all that is in jobs_fd. With keep, at the start: fast, it discards what nobody knows and
 * finishes nothing; keep(ctx, id): 1 if the job is known, 0 if not, or a negative errno, which ends
 * the sweep with that. keep NULL: finishes what was discarded, as slowly as the disk is; what fails
 * does not keep the others, and is returned (the first of it).
 */
must_use int jobfiles_sweep(int jobs_fd, int (*keep)(void *ctx, const char *id, struct err *err),
                            void *ctx, struct jobfiles_swept *ret, struct err *err)
    nonnull_args(4, 5);
/* 1: there is a directory of this job, *ret_dirfd (owned); 0: there is none. */
must_use int jobfiles_find(int jobs_fd, const char *id, int *ret_dirfd,
                           struct err *err) nonnull_all;

/* Bytes that its files take on the disk. */
must_use int jobfiles_bytes(int dirfd, uint64_t *ret, struct err *err) nonnull_all;
