/*
 * records.h - the records of finished jobs: STATE/records/ID.json, 0600 in a directory 0700.
 *
 * Each is written to a file without its name first and then renamed, so a reader sees a whole
 * record or none. It is not flushed: after a power cut the last seconds' may be missing, or empty,
 * which a reader tells. Writers of one state directory take turns by a lock, STATE/records/.lock,
 * which also counts the writes since the limits were enforced.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "job/record.h"
#include "sup/ledger.h"

#define RECORDS_ID_SIZE 33 /* 32 hex digits, with the NUL */

/* What is kept. The oldest go first. */
struct records_limits {
    uint64_t count;
    uint64_t bytes;
    uint64_t age_ns;
    uint64_t every; /* writes between two looks at the limits: they may be over by as many */
};
extern const struct records_limits records_limits_default; /* 4096, 64 MiB, 30 days, 64 */

/*
 * Stores the record of job id. 1 if there is one already and replace is false: it stays. ERR_HOST;
 * ERR_USAGE for a bad id. The lock is waited for at most 2 s.
 */
must_use int records_put(int store_fd, const char *id, const struct buf *json, bool replace,
                         const struct records_limits *limits, struct err *err) nonnull_all;

/*
 * Stores that the supervisor of a stale slot was killed, unless there is a record already. Call it
 * when the slot's control groups were removed.
 */
must_use int records_put_lost(int store_fd, const struct ledger_entry *entry,
                              struct err *err) nonnull_all;

struct records_item {
    char id[RECORDS_ID_SIZE];
    uint64_t bytes;
    uint64_t mtime_ns; /* real time */
};

#define RECORDS_LIST_MAX 16384 /* more are not looked at */

/* All records, newest first. Owned by the caller (free). No directory is an empty list. */
must_use int records_list(int store_fd, struct records_item **ret, size_t *ret_n,
                          struct err *err) nonnull_all;

/* The bytes of one record by its whole id, as they are. ERR_HOST/-ENOENT if there is none. */
must_use int records_load(int store_fd, const char *id, struct buf *ret,
                          struct err *err) nonnull_all;

/*
 * The record whose id begins with prefix. ERR_USAGE: not hex, -ENOENT none, -EEXIST several.
 * ret_id is filled once the id is known, also if the record can't be read.
 */
must_use int records_read(int store_fd, const char *prefix, char ret_id[RECORDS_ID_SIZE],
                          struct buf *ret, struct err *err) nonnull_all;
