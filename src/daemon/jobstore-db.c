#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"

#include "daemon/jobstore-internal.h"
#include "sys/fd.h"

#define BUSY_MS 2000 /* for an operator's own look at the database; nobody else has it */
/*
 * Pages in the log until they go to the database, which holds the daemon up for its flushes. A job
 * makes some 25: with SQLite's 1000 it were more than one call in a hundred, and the p99.
 */
#define CHECKPOINT_PAGES 8192
#define VFS_NAME         "airlock"

/*
 * How it works. SQLite opens by path and resolves it, which would need search permission on all of
 * STATE's parents and could end in another directory than ours. So a VFS that is SQLite's own but
 * for one function leaves the path alone, and the path is /proc/self/fd/N/jobs.db: the kernel goes
 * from there to the directory that we have open, whatever became of its name.
 *
 * The log beside the database is removed by a clean close. One that is found at the next open says
 * that there was none, and the database is checked before it is used.
 */
static int name_as_given(sqlite3_vfs *vfs, const char *name, int size, char *ret)
{
    int n = snprintf(ret, (size_t)size, "%s", name);

    return n >= 0 && n < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int register_vfs(struct err *err)
{
    static sqlite3_vfs vfs;
    const sqlite3_vfs *own = NULL;

    if (sqlite3_vfs_find(VFS_NAME) != NULL) {
        return 0;
    }
    own = sqlite3_vfs_find("unix");
    if (own == NULL) {
        return err_set(err, ERR_HOST, ENOSYS, "this SQLite has no VFS 'unix'");
    }
    vfs = *own;
    vfs.zName = VFS_NAME;
    vfs.xFullPathname = name_as_given;
    return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK
               ? 0
               : err_set(err, ERR_HOST, ENOMEM, "register the VFS '%s' with SQLite", VFS_NAME);
}

static bool no_room(int errnum)
{
    return errnum == ENOSPC || errnum == EDQUOT || errnum == EFBIG;
}

/* What the error of a system call means to the caller: no room is a limit and passes. */
static int fail_errno(int errnum, const char *what, struct err *err)
{
    if (no_room(errnum)) {
        return err_set(err, ERR_LIMIT, errnum,
                       "%s: no room for the store of jobs: %s; free some on the file system of the "
                       "state directory",
                       what, strerror(errnum)); /* NOLINT(concurrency-mt-unsafe): one thread */
    }
    return err_sys_num(err, errnum, "%s: the store of jobs", what);
}

int jobstore_fail(const struct jobstore *s, const char *what, struct err *err)
{
    int last = errno;
    int rc = s->db != NULL ? sqlite3_extended_errcode(s->db) : SQLITE_NOMEM;
    int sys = s->db != NULL ? sqlite3_system_errno(s->db) : 0;

    if (sys == 0) { /* it is not told of a failed COMMIT; errno is that of the write, then */
        sys = no_room(last) ? last : EIO;
    }
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return fail_errno(ENOSPC, what, err);
    case SQLITE_NOMEM:
        return fail_errno(ENOMEM, what, err);
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
        return fail_errno(sys, what, err);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return err_set(err, ERR_HOST, EBUSY,
                       "%s: another process holds '" JOBSTORE_DB "' for longer than %d ms", what,
                       BUSY_MS);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return err_set(err, ERR_HOST, EUCLEAN,
                       "%s: '" JOBSTORE_DB "' is damaged (%s): put back a copy, or move it away to "
                       "begin anew",
                       what, sqlite3_errmsg(s->db));
    case SQLITE_READONLY:
        return fail_errno(EROFS, what, err);
    case SQLITE_CONSTRAINT:
        if (rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY) {
            return err_set(err, ERR_USAGE, EEXIST, "%s: there is one already", what);
        }
        break;
    default:
        break;
    }
    return err_set(err, ERR_HOST, EINVAL, "%s: the store of jobs: %s", what,
                   s->db != NULL ? sqlite3_errmsg(s->db) : "no database");
}

/* Ours alone, or everything in it could be somebody else's word. */
static int check_owner(const char *what, const struct stat *st, struct err *err)
{
    if (st->st_uid != geteuid() || (st->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return err_set(err, ERR_HOST, EPERM,
                       "%s belongs to uid %u with mode %04o: nobody but uid %u may write it", what,
                       (unsigned int)st->st_uid, (unsigned int)(st->st_mode & 07777),
                       (unsigned int)geteuid());
    }
    return 0;
}

static int open_dir(struct jobstore *s, int dirfd, struct err *err)
{
    struct stat st = {0};

    s->dirfd = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
    if (s->dirfd < 0 || fstat(s->dirfd, &st) < 0) {
        return err_sys(err, "the daemon's state directory");
    }
    if (!S_ISDIR(st.st_mode)) {
        return err_sys_num(err, ENOTDIR, "the daemon's state directory");
    }
    return check_owner("the daemon's state directory", &st, err);
}

/* The number in the lock is for people only: who has the lock is the kernel's word. */
static int take_lock(struct jobstore *s, struct err *err)
{
    char text[16] = "";
    uint64_t pid = 0;
    ssize_t n = 0;
    int r = fd_open_nolink(s->dirfd, "lock", O_RDWR | O_CREAT, 0600, &s->lock_fd, err);

    if (r < 0) {
        return err_wrap(err, "the daemon's state directory");
    }
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK) {
            return err_sys(err, "lock the daemon's state directory");
        }
        n = pread(s->lock_fd, text, sizeof(text) - 1, 0);
        if (n > 0 && text[n - 1] == '\n') {
            text[n - 1] = '\0';
        }
        if (num_parse_u64(text, &pid) == 0) {
            return err_set(err, ERR_HOST, EWOULDBLOCK,
                           "another airlockd (pid %llu) works on this state directory: stop it, or "
                           "give this one another --state",
                           (unsigned long long)pid);
        }
        return err_set(err, ERR_HOST, EWOULDBLOCK,
                       "another airlockd works on this state directory: stop it, or give this one "
                       "another --state");
    }
    n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
    if (ftruncate(s->lock_fd, 0) < 0 || pwrite(s->lock_fd, text, (size_t)n, 0) < 0) {
        return fail_errno(errno, "note our number in the lock of the state directory", err);
    }
    return 0;
}

/* Makes the file or looks at it; closed before SQLite opens it, since a close drops its locks. */
static int prepare_file(const struct jobstore *s, bool *ret_unclean, struct err *err)
{
    auto_fd int fd = -1;
    struct stat st = {0};
    int r = fd_open_nolink(s->dirfd, JOBSTORE_DB, O_RDWR | O_CREAT | O_NONBLOCK, 0600, &fd, err);

    if (r < 0) {
        if (r == -ENOSPC || r == -EDQUOT) {
            err->class = ERR_LIMIT;
        }
        return err_wrap(err, "the store of jobs");
    }
    if (fstat(fd, &st) < 0) {
        return err_sys(err, "stat '" JOBSTORE_DB "'");
    }
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1) {
        return err_set(err, ERR_HOST, EPERM,
                       "'" JOBSTORE_DB "' is no regular file with one name: move it away");
    }
    *ret_unclean =
        (fstatat(s->dirfd, JOBSTORE_DB "-wal", &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0) ||
        fstatat(s->dirfd, JOBSTORE_DB "-journal", &st, AT_SYMLINK_NOFOLLOW) == 0;
    return fstat(fd, &st) < 0 ? err_sys(err, "stat '" JOBSTORE_DB "'")
                              : check_owner("'" JOBSTORE_DB "'", &st, err);
}

static int exec(const struct jobstore *s, const char *sql, const char *what, struct err *err)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0
                                                                   : jobstore_fail(s, what, err);
}

/* The one value of a constant question. The text is cut to the room. */
static int ask(const struct jobstore *s, const char *sql, char *ret, size_t size, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);

    if (rc == SQLITE_OK) {
        rc = sqlite3_step(st);
    }
    if (rc == SQLITE_ROW) {
        const unsigned char *text = sqlite3_column_text(st, 0);

        (void)snprintf(ret, size, "%s", text != NULL ? (const char *)text : "");
    } else {
        rc = jobstore_fail(s, "open", err);
    }
    (void)sqlite3_finalize(st);
    return rc == SQLITE_ROW ? 0 : rc;
}

static int ask_number(const struct jobstore *s, const char *sql, uint64_t *ret, struct err *err)
{
    char text[32] = "";
    int r = ask(s, sql, text, sizeof(text), err);

    if (r == 0 && num_parse_u64(text, ret) < 0) {
        return err_set(err, ERR_HOST, EUCLEAN, "'" JOBSTORE_DB "' is damaged: '%s' is no number",
                       text);
    }
    return r;
}

static int expect(const struct jobstore *s, const char *sql, const char *answer, struct err *err)
{
    char text[200] = "";
    int r = ask(s, sql, text, sizeof(text), err);

    if (r == 0 && strcmp(text, answer) != 0) {
        return err_set(err, ERR_HOST, EUCLEAN,
                       "'" JOBSTORE_DB
                       "': %s says '%s', not '%s': put back a copy, or move it away "
                       "to begin anew",
                       sql, text, answer);
    }
    return r;
}

/* Nothing in the file may do more than hold rows: it is data, also when somebody else wrote it. */
static int harden(const struct jobstore *s, struct err *err)
{
    static const struct {
        int what, value;
    } switches[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 1},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 1},
        {SQLITE_DBCONFIG_DQS_DDL, 0},
        {SQLITE_DBCONFIG_DQS_DML, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(switches); i++) {
        int now = -1;

        if (sqlite3_db_config(s->db, switches[i].what, switches[i].value, &now) != SQLITE_OK ||
            now != switches[i].value) {
            return err_set(err, ERR_HOST, ENOTSUP, "this SQLite (%s) lacks the switch %d",
                           sqlite3_libversion(), switches[i].what);
        }
    }
    (void)sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
    (void)sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, 1 << 20);
    (void)sqlite3_limit(s->db, SQLITE_LIMIT_VARIABLE_NUMBER, 32);
    return sqlite3_busy_timeout(s->db, BUSY_MS) == SQLITE_OK ? 0 : jobstore_fail(s, "open", err);
}

static int settle(const struct jobstore *s, enum jobstore_sync sync, struct err *err)
{
    char checkpoint[64];
    char mode[32] = "";
    int r = ask(s, "PRAGMA journal_mode = WAL", mode, sizeof(mode), err);

    if (r == 0 && strcmp(mode, "wal") != 0) {
        return err_set(err, ERR_HOST, ENOTSUP,
                       "the file system of the state directory can't hold a write-ahead log of "
                       "SQLite (journal mode '%s'): use a local one",
                       mode);
    }
    (void)snprintf(checkpoint, sizeof(checkpoint), "PRAGMA wal_autocheckpoint = %d",
                   CHECKPOINT_PAGES);
    if (r == 0) {
        r = exec(s,
                 sync == JOBSTORE_SYNC_FULL ? "PRAGMA synchronous = FULL"
                                            : "PRAGMA synchronous = NORMAL",
                 "open", err);
    }
    if (r == 0) {
        r = exec(s, checkpoint, "open", err);
    }
    return r < 0 ? r
                 : exec(s,
                        "PRAGMA cell_size_check = ON; PRAGMA secure_delete = ON;"
                        "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;"
                        "PRAGMA journal_size_limit = 67108864;",
                        "open", err);
}

/*
 * One step a version, each in a transaction that also moves user_version. A step that was released
 * is never changed: the next one mends it.
 *
 * tally counts what jobs holds, kept by the triggers, so that quotas and metrics need not count rows.
 * accounts outlives the rows of the jobs that were charged.
 */
static const char *const steps[] = {
    "PRAGMA application_id = 0x616c6b6a;"
    "CREATE TABLE jobs ("
    "  seq INTEGER PRIMARY KEY,"
    "  id TEXT NOT NULL UNIQUE CHECK (length(id) = 32),"
    "  tenant TEXT NOT NULL CHECK (length(tenant) BETWEEN 1 AND 64),"
    "  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3),"
    "  priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9),"
    "  created_ms INTEGER NOT NULL CHECK (created_ms >= 0),"
    "  started_ms INTEGER NOT NULL CHECK (started_ms >= 0),"
    "  ended_ms INTEGER NOT NULL CHECK (ended_ms >= 0),"
    "  deadline_ms INTEGER NOT NULL CHECK (deadline_ms >= 0),"
    "  attempts INTEGER NOT NULL CHECK (attempts >= 0),"
    "  cancel INTEGER NOT NULL CHECK (cancel IN (0, 1)),"
    "  verdict INTEGER NOT NULL CHECK (verdict BETWEEN -1 AND 9),"
    "  reason TEXT NOT NULL,"
    "  machine_id TEXT NOT NULL,"
    "  kept_bytes INTEGER NOT NULL CHECK (kept_bytes >= 0),"
    "  purged INTEGER NOT NULL CHECK (purged IN (0, 1)),"
    "  CHECK ((state = 3) = (verdict >= 0)),"
    "  CHECK (purged = 0 OR (state = 3 AND kept_bytes = 0))"
    ") STRICT;"
    "CREATE INDEX jobs_tenant ON jobs (tenant);"
    "CREATE INDEX jobs_exact ON jobs (tenant, state, verdict);"
    "CREATE INDEX jobs_unended ON jobs (seq) WHERE state < 3;"
    "CREATE INDEX jobs_kept ON jobs (ended_ms) WHERE state = 3 AND purged = 0;"
    "CREATE INDEX jobs_kept_of ON jobs (tenant, ended_ms) WHERE state = 3 AND purged = 0;"
    "CREATE INDEX jobs_purged ON jobs (ended_ms) WHERE purged = 1;"
    "CREATE TABLE keys ("
    "  tenant TEXT NOT NULL,"
    "  key TEXT NOT NULL,"
    "  job INTEGER NOT NULL REFERENCES jobs (seq) ON DELETE CASCADE,"
    "  body TEXT NOT NULL CHECK (length(body) = 64),"
    "  created_ms INTEGER NOT NULL CHECK (created_ms >= 0),"
    "  PRIMARY KEY (tenant, key)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX keys_job ON keys (job);"
    "CREATE INDEX keys_created ON keys (created_ms);"
    "CREATE TABLE tally ("
    "  tenant TEXT NOT NULL,"
    "  state INTEGER NOT NULL,"
    "  verdict INTEGER NOT NULL,"
    "  jobs INTEGER NOT NULL CHECK (jobs >= 0),"
    "  kept_bytes INTEGER NOT NULL CHECK (kept_bytes >= 0),"
    "  PRIMARY KEY (tenant, state, verdict)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TRIGGER jobs_in AFTER INSERT ON jobs BEGIN"
    "  INSERT INTO tally VALUES (new.tenant, new.state, new.verdict, 1, new.kept_bytes)"
    "    ON CONFLICT (tenant, state, verdict) DO UPDATE"
    "    SET jobs = jobs + 1, kept_bytes = kept_bytes + excluded.kept_bytes;"
    "END;"
    "CREATE TRIGGER jobs_out AFTER DELETE ON jobs BEGIN"
    "  UPDATE tally SET jobs = jobs - 1, kept_bytes = kept_bytes - old.kept_bytes"
    "    WHERE tenant = old.tenant AND state = old.state AND verdict = old.verdict;"
    "END;"
    "CREATE TRIGGER jobs_move AFTER UPDATE OF state, verdict, kept_bytes ON jobs"
    "  WHEN old.state <> new.state OR old.verdict <> new.verdict"
    "    OR old.kept_bytes <> new.kept_bytes BEGIN"
    "  UPDATE tally SET jobs = jobs - 1, kept_bytes = kept_bytes - old.kept_bytes"
    "    WHERE tenant = old.tenant AND state = old.state AND verdict = old.verdict;"
    "  INSERT INTO tally VALUES (new.tenant, new.state, new.verdict, 1, new.kept_bytes)"
    "    ON CONFLICT (tenant, state, verdict) DO UPDATE"
    "    SET jobs = jobs + 1, kept_bytes = kept_bytes + excluded.kept_bytes;"
    "END;"
    "CREATE TABLE accounts ("
    "  tenant TEXT NOT NULL PRIMARY KEY,"
    "  jobs INTEGER NOT NULL,"
    "  cpu_ns INTEGER NOT NULL,"
    "  wall_ns INTEGER NOT NULL"
    ") STRICT, WITHOUT ROWID;"
    "PRAGMA user_version = 1;",
};

/* The steps and the statements speak of states and verdicts by number. */
static_assert(JOB_ENDED == 3 && AIRLOCK_CANCELED == 9, "the schema names these numbers");
static_assert(JOBSTORE_APPLICATION_ID == 0x616c6b6a, "the schema names this number");

static int migrate(const struct jobstore *s, struct err *err)
{
    uint64_t application = 0;
    uint64_t version = 0;
    uint64_t objects = 0;
    int r = ask_number(s, "PRAGMA application_id", &application, err);

    if (r == 0) {
        r = ask_number(s, "PRAGMA user_version", &version, err);
    }
    if (r == 0) {
        r = ask_number(s, "SELECT count(*) FROM sqlite_schema", &objects, err);
    }
    if (r < 0) {
        return r;
    }
    if (application != JOBSTORE_APPLICATION_ID && (application | version | objects) != 0) {
        return err_set(err, ERR_HOST, EUCLEAN,
                       "'" JOBSTORE_DB "' is a database, but not one of airlockd: move it away");
    }
    if (version > ARRAY_LEN(steps)) {
        return err_set(err, ERR_HOST, EPROTONOSUPPORT,
                       "'" JOBSTORE_DB "' has schema %llu and this airlockd (" AIRLOCK_VERSION
                       ") knows up to %zu: start the newer airlockd that wrote it",
                       (unsigned long long)version, ARRAY_LEN(steps));
    }
    for (; version < ARRAY_LEN(steps) && r == 0; version++) {
        struct err unused = ERR_INIT;

        r = exec(s, "BEGIN IMMEDIATE", "bring the schema up to date", err);
        if (r == 0) {
            r = exec(s, steps[version], "bring the schema up to date", err);
        }
        if (r == 0) {
            r = exec(s, "COMMIT", "bring the schema up to date", err);
        }
        if (r < 0 && sqlite3_get_autocommit(s->db) == 0) {
            (void)exec(s, "ROLLBACK", "undo", &unused);
        }
    }
    return r;
}

static int prepare(struct jobstore *s, struct err *err)
{
    for (size_t i = 0; i < STMT_MAX; i++) {
        if (sqlite3_prepare_v3(s->db, jobstore_sql[i], -1, SQLITE_PREPARE_PERSISTENT, &s->stmts[i],
                               NULL) != SQLITE_OK) {
            return jobstore_fail(s, "open", err);
        }
    }
    return 0;
}

static int open_db(struct jobstore *s, enum jobstore_sync sync, bool unclean, struct err *err)
{
    char path[64];
    int r = register_vfs(err);

    if (r < 0) {
        return r;
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d/" JOBSTORE_DB, s->dirfd);
    if (sqlite3_open_v2(path, &s->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
                            SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE,
                        VFS_NAME) != SQLITE_OK) {
        return jobstore_fail(s, "open '" JOBSTORE_DB "'", err);
    }
    r = harden(s, err);
    if (r == 0 && unclean) {
        r = expect(s, "PRAGMA quick_check(1)", "ok", err);
    }
    if (r == 0) {
        r = settle(s, sync, err);
    }
    if (r == 0) {
        r = migrate(s, err);
    }
    if (r == 0) {
        r = expect(s, "PRAGMA foreign_keys", "1", err);
    }
    return r < 0 ? r : prepare(s, err);
}

int jobstore_open(int dirfd, enum jobstore_sync sync, struct jobstore **ret, struct err *err)
{
    auto_jobstore struct jobstore *s = calloc(1, sizeof(*s));
    bool unclean = false;
    int r = 0;

    if (s == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    s->dirfd = -1;
    s->lock_fd = -1;
    r = open_dir(s, dirfd, err);
    if (r == 0) {
        r = take_lock(s, err);
    }
    if (r == 0) {
        r = prepare_file(s, &unclean, err);
    }
    if (r == 0) {
        r = open_db(s, sync, unclean, err);
    }
    if (r < 0) {
        return r;
    }
    *ret = STEAL_PTR(&s);
    return 0;
}

void jobstore_free(struct jobstore *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < STMT_MAX; i++) {
        (void)sqlite3_finalize(s->stmts[i]);
    }
    /* The last to close moves the log into the database; a log that it can't move is kept. */
    (void)sqlite3_close(s->db);
    fd_close_p(&s->lock_fd);
    fd_close_p(&s->dirfd);
    free(s);
}

void jobstore_free_p(struct jobstore **s)
{
    jobstore_free(*s);
    *s = NULL;
}
