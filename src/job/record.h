/*
 * record.h - what stays of a job: the evidence, without data of the user (docs/records.md).
 *
 * Sizes and digests, never contents; no argument, environment value, file name, output or text that
 * may quote one of them.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "job/result.h"

#define RECORD_VERSION 1
/* Longest record: lists of files are cut where they would not fit. */
#define RECORD_JSON_MAX  (512 * KIB)
#define RECORD_FILES_MAX 1024u

enum record_state {
    RECORD_ENDING,   /* the verdict is final, the slot is about to be given back */
    RECORD_FINISHED, /* all of it, the proof of the cleanup included */
    RECORD_LOST,     /* the supervisor was killed; written by its reaper or a later start */
};

struct record {
    enum record_state state;
    uint64_t submitted_realtime_ns; /* 0 = not known */
    bool has_stdin;
    uint64_t stdin_bytes;
    struct digest stdin_digest;
    const char *written_by; /* "supervisor", "reaper", "next start" */
    bool id_only;           /* nothing but the id and the events is known: the rest is null */
};

/*
 * Digest of the canonical JSON of the job: keys sorted, no blanks; files by size and digest;
 * environment by name only, so that no secret can be guessed from it. Needs the stage.
 */
must_use int record_spec_digest(const struct result *r, const struct record *rec,
                                struct digest *ret, struct err *err) nonnull_all;

/* Appends the record as one line. 0, -ENOBUFS or -ENOMEM. */
must_use int record_json(const struct result *r, const struct record *rec,
                         struct buf *out) nonnull_all;

/* "2026-11-29T23:04:05.123456Z"; returns text. */
const char *record_time(uint64_t realtime_ns, char text[40]) nonnull_all;
