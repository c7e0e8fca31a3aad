/*
 * jobstore-internal.h - the database under the store: statements, transactions, errors.
 *
 * jobstore-db.c opens it, jobstore.c asks it. Every value of a statement is bound, none is text.
 */
#pragma once

#include <sqlite3.h>

#include "daemon/jobstore.h"

#define JOBSTORE_APPLICATION_ID 0x616c6b6a /* "alkj": in the header of the file, for file(1) */
#define JOBSTORE_DB             "jobs.db"

enum jobstore_stmt {
    STMT_BEGIN,
    STMT_COMMIT,
    STMT_ROLLBACK,
    STMT_INSERT,
    STMT_KEY_EXPIRED,
    STMT_KEY_INSERT,
    STMT_KEY_GET,
    STMT_GET,
    STMT_SEQ,
    STMT_LIST,
    STMT_LIST_ENDED,
    STMT_LIST_EXACT,
    STMT_UPDATE,
    STMT_END,
    STMT_CHARGE,
    STMT_PURGED,
    STMT_UNENDED,
    STMT_KEPT,
    STMT_KEPT_OF,
    STMT_TENANT,
    STMT_ACCOUNT,
    STMT_TENANTS,
    STMT_COUNTS,
    STMT_ROWS,
    STMT_FORGET_BEFORE,
    STMT_FORGET_OLDEST,
    STMT_KEYS_EXPIRE,
    STMT_MAX,
};

struct jobstore {
    int dirfd, lock_fd; /* owned */
    sqlite3 *db;
    sqlite3_stmt *stmts[STMT_MAX]; /* kept for the life */
};

/* The text of each statement; jobstore.c. */
extern const char *const jobstore_sql[STMT_MAX];

/* Fills err from what SQLite last said of the database. Never 0. */
must_use int jobstore_fail(const struct jobstore *s, const char *what, struct err *err) nonnull_all;
