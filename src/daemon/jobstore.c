#include "daemon/jobstore.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "daemon/jobstore-internal.h"
#include "daemon/service.h"

/*
 * How it works. Each question is a statement that was prepared once; struct call binds its values,
 * steps it and leaves it ready for the next. One statement is one transaction; what takes several
 * is put between BEGIN IMMEDIATE and COMMIT, and whatever fails in between is rolled back.
 *
 * INDEXED BY makes the plan part of the statement: a schema without the index does not open, instead
 * of reading all rows in the daemon's only thread.
 */
#define JOB_COLUMNS                                                                          \
    "id, tenant, state, priority, created_ms, started_ms, ended_ms, deadline_ms, attempts, " \
    "cancel, verdict, reason, machine_id, kept_bytes, purged"

const char *const jobstore_sql[STMT_MAX] = {
    [STMT_BEGIN] = "BEGIN IMMEDIATE",
    [STMT_COMMIT] = "COMMIT",
    [STMT_ROLLBACK] = "ROLLBACK",
    [STMT_INSERT] = "INSERT INTO jobs (" JOB_COLUMNS ") VALUES "
                    "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [STMT_KEY_EXPIRED] = "DELETE FROM keys WHERE tenant = ? AND key = ? AND created_ms < ?",
    [STMT_KEY_INSERT] = "INSERT INTO keys (tenant, key, created_ms, body, job) "
                        "VALUES (?, ?, ?, ?, last_insert_rowid())",
    [STMT_KEY_GET] = "SELECT j.id, k.body FROM keys AS k JOIN jobs AS j ON j.seq = k.job "
                     "WHERE k.tenant = ? AND k.key = ? AND k.created_ms >= ?",
    [STMT_GET] = "SELECT " JOB_COLUMNS " FROM jobs WHERE id = ?",
    [STMT_SEQ] = "SELECT seq, ended_ms FROM jobs WHERE id = ?1 AND (?2 = '' OR tenant = ?2)",
    [STMT_LIST] = "SELECT " JOB_COLUMNS " FROM jobs INDEXED BY jobs_tenant "
                  "WHERE tenant = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
    /* Those that have not ended are few, so what is passed over is, too. */
    [STMT_LIST_ENDED] = "SELECT " JOB_COLUMNS " FROM jobs INDEXED BY jobs_tenant "
                        "WHERE tenant = ? AND seq < ? AND state = 3 ORDER BY seq DESC LIMIT ?",
    [STMT_LIST_EXACT] = "SELECT " JOB_COLUMNS " FROM jobs INDEXED BY jobs_exact "
                        "WHERE tenant = ?1 AND state = ?4 AND verdict = ?5 AND seq < ?2 "
                        "ORDER BY seq DESC LIMIT ?3",
    [STMT_UPDATE] = "UPDATE jobs SET state = ?2, attempts = ?3, cancel = ?4, started_ms = ?5, "
                    "machine_id = ?6, kept_bytes = ?7 WHERE id = ?1 AND state < 3",
    [STMT_END] = "UPDATE jobs SET state = 3, attempts = ?2, cancel = ?3, started_ms = ?4, "
                 "machine_id = ?5, kept_bytes = ?6, verdict = ?7, reason = ?8, ended_ms = ?9 "
                 "WHERE id = ?1 AND state < 3",
    [STMT_CHARGE] = "INSERT INTO accounts (tenant, jobs, cpu_ns, wall_ns) "
                    "SELECT tenant, 1, ?2, ?3 FROM jobs WHERE id = ?1 "
                    "ON CONFLICT (tenant) DO UPDATE SET jobs = jobs + 1, "
                    "cpu_ns = cpu_ns + excluded.cpu_ns, wall_ns = wall_ns + excluded.wall_ns",
    [STMT_PURGED] = "UPDATE jobs SET purged = 1, kept_bytes = 0 WHERE id = ? AND state = 3",
    [STMT_UNENDED] = "SELECT " JOB_COLUMNS " FROM jobs INDEXED BY jobs_unended "
                     "WHERE state < 3 AND seq > ? ORDER BY seq LIMIT ?",
    [STMT_KEPT] = "SELECT " JOB_COLUMNS " FROM jobs INDEXED BY jobs_kept "
                  "WHERE state = 3 AND purged = 0 AND (ended_ms, seq) > (?, ?) "
                  "ORDER BY ended_ms, seq LIMIT ?",
    [STMT_KEPT_OF] = "SELECT " JOB_COLUMNS " FROM jobs INDEXED BY jobs_kept_of "
                     "WHERE state = 3 AND purged = 0 AND (ended_ms, seq) > (?1, ?2) "
                     "AND tenant = ?4 ORDER BY ended_ms, seq LIMIT ?3",
    [STMT_TENANT] = "SELECT state, jobs, kept_bytes FROM tally WHERE tenant = ?",
    [STMT_ACCOUNT] = "SELECT jobs, cpu_ns, wall_ns FROM accounts WHERE tenant = ?",
    [STMT_TENANTS] = "SELECT DISTINCT tenant FROM tally WHERE tenant > ? ORDER BY tenant LIMIT ?",
    [STMT_COUNTS] = "SELECT state, verdict, sum(jobs), sum(kept_bytes) FROM tally "
                    "GROUP BY state, verdict",
    [STMT_ROWS] = "SELECT ifnull(sum(jobs), 0) FROM tally",
    [STMT_FORGET_BEFORE] = "DELETE FROM jobs WHERE seq IN (SELECT seq FROM jobs "
                           "INDEXED BY jobs_purged WHERE purged = 1 AND ended_ms < ? "
                           "ORDER BY ended_ms LIMIT ?)",
    [STMT_FORGET_OLDEST] = "DELETE FROM jobs WHERE seq IN (SELECT seq FROM jobs "
                           "INDEXED BY jobs_purged WHERE purged = 1 "
                           "ORDER BY ended_ms, seq LIMIT ?)",
    [STMT_KEYS_EXPIRE] = "DELETE FROM keys WHERE (tenant, key) IN (SELECT tenant, key FROM keys "
                         "INDEXED BY keys_created WHERE created_ms < ? "
                         "ORDER BY created_ms LIMIT ?)",
};

/* A statement in use: values are bound in order, then rows are taken. */
struct call {
    const struct jobstore *s;
    sqlite3_stmt *st;
    const char *what; /* for messages */
    int bound;
    int failed; /* 0, or a positive errno that came up while binding */
};

static struct call call_of(const struct jobstore *s, enum jobstore_stmt stmt, const char *what)
{
    return (struct call){.s = s, .st = s->stmts[stmt], .what = what};
}

/* Also forgets what was bound: it is the caller's memory. */
static void call_done(struct call *c)
{
    (void)sqlite3_reset(c->st);
    (void)sqlite3_clear_bindings(c->st);
}

#define auto_call on_scope_exit(call_done)

static void put_int(struct call *c, int64_t v)
{
    if (sqlite3_bind_int64(c->st, ++c->bound, v) != SQLITE_OK) {
        c->failed = ENOMEM;
    }
}

static void put_u64(struct call *c, uint64_t v)
{
    if (v > INT64_MAX) {
        c->failed = ERANGE;
        v = 0;
    }
    put_int(c, (int64_t)v);
}

static void put_text(struct call *c, const char *text)
{
    if (sqlite3_bind_text(c->st, ++c->bound, text, -1, SQLITE_STATIC) != SQLITE_OK) {
        c->failed = ENOMEM;
    }
}

/* 1: a row; 0: no more. */
static int call_row(struct call *c, struct err *err)
{
    int rc = SQLITE_OK;

    if (c->failed == ERANGE) {
        return err_set(err, ERR_USAGE, ERANGE, "%s: a number is too large for the store of jobs",
                       c->what);
    }
    if (c->failed != 0) {
        return err_sys_num(err, c->failed, "%s: the store of jobs", c->what);
    }
    errno = 0; /* see jobstore_fail() */
    rc = sqlite3_step(c->st);
    if (rc == SQLITE_ROW) {
        return 1;
    }
    return rc == SQLITE_DONE ? 0 : jobstore_fail(c->s, c->what, err);
}

static int run(const struct jobstore *s, enum jobstore_stmt stmt, const char *what, struct err *err)
{
    auto_call struct call c = call_of(s, stmt, what);

    return call_row(&c, err);
}

/* Ends what begin() began: r is what the steps in between came to. */
static int commit(const struct jobstore *s, int r, const char *what, struct err *err)
{
    struct err unused = ERR_INIT;

    if (r == 0) {
        r = run(s, STMT_COMMIT, what, err);
    }
    /* Some failures have rolled back by themselves. */
    if (r < 0 && sqlite3_get_autocommit(s->db) == 0) {
        (void)run(s, STMT_ROLLBACK, what, &unused);
    }
    return r;
}

static int begin(const struct jobstore *s, const char *what, struct err *err)
{
    return run(s, STMT_BEGIN, what, err);
}

static int odd_row(struct err *err)
{
    return err_set(err, ERR_HOST, EUCLEAN,
                   "'" JOBSTORE_DB "' is damaged: it has a row that can't be a job's");
}

/* What is in the file is checked like anything else that comes from outside. */
static bool get_u64(sqlite3_stmt *st, int column, uint64_t max, uint64_t *ret)
{
    int64_t v = sqlite3_column_int64(st, column);

    *ret = (uint64_t)v;
    return v >= 0 && *ret <= max;
}

static bool get_text(sqlite3_stmt *st, int column, char *ret, size_t size)
{
    const unsigned char *text = sqlite3_column_text(st, column);
    int len = sqlite3_column_bytes(st, column);

    if (text == NULL || len < 0 || (size_t)len >= size ||
        strlen((const char *)text) != (size_t)len) {
        return false;
    }
    memcpy(ret, text, (size_t)len + 1);
    return true;
}

static bool get_times(sqlite3_stmt *st, struct job_info *ret)
{
    return get_u64(st, 4, INT64_MAX, &ret->created_ms) &&
           get_u64(st, 5, INT64_MAX, &ret->started_ms) &&
           get_u64(st, 6, INT64_MAX, &ret->ended_ms) &&
           get_u64(st, 7, INT64_MAX, &ret->deadline_ms);
}

/* The columns are JOB_COLUMNS. */
static int get_job(sqlite3_stmt *st, struct job_info *ret, struct err *err)
{
    struct job_info job = {0};
    uint64_t state = 0;
    uint64_t priority = 0;
    uint64_t attempts = 0;
    uint64_t cancel = 0;
    uint64_t purged = 0;
    int64_t verdict = sqlite3_column_int64(st, 10);

    if (!get_text(st, 0, job.id, sizeof(job.id)) || !job_id_ok(job.id) ||
        !get_text(st, 1, job.tenant, sizeof(job.tenant)) || !get_u64(st, 2, JOB_ENDED, &state) ||
        !get_u64(st, 3, JOB_PRIORITY_MAX, &priority) || !get_times(st, &job) ||
        !get_u64(st, 8, UINT_MAX, &attempts) || !get_u64(st, 9, 1, &cancel) || verdict < -1 ||
        verdict >= (int64_t)JOBSTORE_VERDICTS ||
        !get_text(st, 11, job.reason, sizeof(job.reason)) ||
        !get_text(st, 12, job.machine_id, sizeof(job.machine_id)) ||
        !get_u64(st, 13, INT64_MAX, &job.kept_bytes) || !get_u64(st, 14, 1, &purged)) {
        return odd_row(err);
    }
    job.state = (enum job_state)state;
    job.priority = (unsigned int)priority;
    job.attempts = (unsigned int)attempts;
    job.cancel = cancel != 0;
    job.verdict = (int)verdict;
    job.purged = purged != 0;
    *ret = job;
    return 0;
}

/* The statement was told put_limit(). */
static int get_jobs(struct call *c, struct jobstore_page *page, struct err *err)
{
    size_t n = 0;
    int r = 0;

    while ((r = call_row(c, err)) > 0 && n < page->max) {
        r = get_job(c->st, &page->jobs[n], err);
        if (r < 0) {
            return r;
        }
        n++;
    }
    if (r < 0) {
        return r;
    }
    page->n = n;
    page->more = r > 0;
    return 0;
}

/* One more than there is room for tells whether there are more. */
static void put_limit(struct call *c, const struct jobstore_page *page)
{
    put_u64(c, (uint64_t)page->max + 1);
}

static int no_job(const char *what, struct err *err)
{
    return err_set(err, ERR_USAGE, ENOENT, "%s: there is no such job", what);
}

static int insert_row(const struct jobstore *s, const struct job_info *job, struct err *err)
{
    auto_call struct call c = call_of(s, STMT_INSERT, "accept a job");

    put_text(&c, job->id);
    put_text(&c, job->tenant);
    put_int(&c, (int64_t)job->state);
    put_u64(&c, job->priority);
    put_u64(&c, job->created_ms);
    put_u64(&c, job->started_ms);
    put_u64(&c, job->ended_ms);
    put_u64(&c, job->deadline_ms);
    put_u64(&c, job->attempts);
    put_int(&c, job->cancel);
    put_int(&c, job->verdict);
    put_text(&c, job->reason);
    put_text(&c, job->machine_id);
    put_u64(&c, job->kept_bytes);
    put_int(&c, job->purged);
    return call_row(&c, err);
}

/* The oldest time of a key that still counts. */
static uint64_t key_since(uint64_t now_ms)
{
    return now_ms > JOBSTORE_KEY_MS ? now_ms - JOBSTORE_KEY_MS : 0;
}

/* The job was the last row inserted. */
static int insert_key(const struct jobstore *s, const struct job_info *job, const char *key,
                      const struct digest *body, struct err *err)
{
    auto_call struct call old = call_of(s, STMT_KEY_EXPIRED, "accept a job");
    auto_call struct call c = call_of(s, STMT_KEY_INSERT, "accept a job's Idempotency-Key");
    int r = 0;

    put_text(&old, job->tenant);
    put_text(&old, key);
    put_u64(&old, key_since(job->created_ms));
    r = call_row(&old, err);
    if (r < 0) {
        return r;
    }
    put_text(&c, job->tenant);
    put_text(&c, key);
    put_u64(&c, job->created_ms);
    put_text(&c, body->hex);
    return call_row(&c, err);
}

int jobstore_insert(struct jobstore *s, const struct job_info *job, const char *key,
                    const struct digest *body, struct err *err)
{
    bool keyed = key != NULL && *key != '\0';
    int r = 0;

    if (!job_id_ok(job->id) || job->tenant[0] == '\0' || job->state == JOB_ENDED ||
        job->verdict != -1 || job->priority > JOB_PRIORITY_MAX || job->purged) {
        return err_usage(err, "accept a job: it has no id or tenant, or has ended");
    }
    if (keyed && (strlen(key) >= JOB_KEY_SIZE || body == NULL || !digest_is_hex(body->hex))) {
        return err_usage(err, "accept a job: its Idempotency-Key is too long or has no digest");
    }
    if (!keyed) {
        return insert_row(s, job, err);
    }
    r = begin(s, "accept a job", err);
    if (r < 0) {
        return r;
    }
    r = insert_row(s, job, err);
    if (r == 0) {
        r = insert_key(s, job, key, body, err);
    }
    return commit(s, r, "accept a job", err);
}

int jobstore_key(struct jobstore *s, const char *tenant, const char *key, uint64_t now_ms,
                 struct jobstore_key *ret, struct err *err)
{
    auto_call struct call c = call_of(s, STMT_KEY_GET, "look up an Idempotency-Key");
    struct jobstore_key found = {.id = ""};
    int r = 0;

    put_text(&c, tenant);
    put_text(&c, key);
    put_u64(&c, key_since(now_ms));
    r = call_row(&c, err);
    if (r <= 0) {
        return r;
    }
    if (!get_text(c.st, 0, found.id, sizeof(found.id)) || !job_id_ok(found.id) ||
        !get_text(c.st, 1, found.body.hex, sizeof(found.body.hex)) ||
        !digest_is_hex(found.body.hex)) {
        return odd_row(err);
    }
    *ret = found;
    return 1;
}

int jobstore_get(struct jobstore *s, const char *tenant, const char *id, struct job_info *ret,
                 struct err *err)
{
    auto_call struct call c = call_of(s, STMT_GET, "look up a job");
    struct job_info job;
    int r = 0;

    if (!job_id_ok(id)) {
        return no_job("look up a job", err);
    }
    put_text(&c, id);
    r = call_row(&c, err);
    if (r > 0) {
        r = get_job(c.st, &job, err);
        if (r == 0 && (tenant == NULL || strcmp(job.tenant, tenant) == 0)) {
            *ret = job;
            return 0;
        }
    }
    return r < 0 ? r : no_job("look up a job", err);
}

/* Where a job stands in the orders that pages go by. tenant "" = any. */
static int place_of(const struct jobstore *s, const char *tenant, const char *id, uint64_t *ret_seq,
                    uint64_t *ret_ended_ms, struct err *err)
{
    auto_call struct call c = call_of(s, STMT_SEQ, "list jobs");
    int r = 0;

    if (!job_id_ok(id)) {
        return no_job("the job to go on after", err);
    }
    put_text(&c, id);
    put_text(&c, tenant);
    r = call_row(&c, err);
    if (r == 0) {
        return no_job("the job to go on after", err);
    }
    if (r > 0 && (!get_u64(c.st, 0, INT64_MAX, ret_seq) ||
                  (ret_ended_ms != NULL && !get_u64(c.st, 1, INT64_MAX, ret_ended_ms)))) {
        return odd_row(err);
    }
    return r < 0 ? r : 0;
}

/* page is empty; before: the sequence number of the cursor. */
static int list_rows(const struct jobstore *s, const char *tenant, const struct job_filter *filter,
                     uint64_t before, struct jobstore_page *page, struct err *err)
{
    bool exact = filter->verdict >= 0 || (filter->state >= 0 && filter->state != JOB_ENDED);
    auto_call struct call c = call_of(s,
                                      exact                        ? STMT_LIST_EXACT
                                      : filter->state == JOB_ENDED ? STMT_LIST_ENDED
                                                                   : STMT_LIST,
                                      "list jobs");

    put_text(&c, tenant);
    put_u64(&c, before);
    put_limit(&c, page);
    if (exact) {
        put_int(&c, filter->verdict >= 0 ? JOB_ENDED : filter->state);
        put_int(&c, filter->verdict >= 0 ? filter->verdict : -1);
    }
    return get_jobs(&c, page, err);
}

int jobstore_list(struct jobstore *s, const char *tenant, const struct job_filter *filter,
                  struct jobstore_page *page, struct err *err)
{
    uint64_t before = INT64_MAX;
    int r = 0;

    if (page->max == 0 || page->max > JOB_PAGE_MAX) {
        return err_usage(err, "list jobs: a page is 1 to %u of them", JOB_PAGE_MAX);
    }
    if (filter->after[0] != '\0') {
        r = place_of(s, tenant, filter->after, &before, NULL, err);
        if (r < 0) {
            return r;
        }
    }
    /* Whatever has a verdict has ended. */
    if (filter->verdict >= 0 && filter->state >= 0 && filter->state != JOB_ENDED) {
        page->n = 0;
        page->more = false;
        return 0;
    }
    return list_rows(s, tenant, filter, before, page, err);
}

/* A change of one row that has not ended; what it is when there was none to change. */
static int changed_one(const struct jobstore *s, const char *id, const char *what, struct err *err)
{
    struct job_info job;
    int r = 0;

    if (sqlite3_changes64(s->db) == 1) {
        return 0;
    }
    {
        auto_call struct call c = call_of(s, STMT_GET, what);

        put_text(&c, id);
        r = call_row(&c, err);
        if (r > 0) {
            r = get_job(c.st, &job, err);
            return r < 0 ? r
                         : err_set(err, ERR_USAGE, EALREADY, "%s: the job has ended already", what);
        }
    }
    return r < 0 ? r : no_job(what, err);
}

int jobstore_update(struct jobstore *s, const struct job_info *job, struct err *err)
{
    auto_call struct call c = call_of(s, STMT_UPDATE, "put down the state of a job");
    int r = 0;

    if (!job_id_ok(job->id)) {
        return no_job("put down the state of a job", err);
    }
    if (job->state == JOB_ENDED) {
        return err_usage(err, "put down the state of a job: the end has its own call");
    }
    put_text(&c, job->id);
    put_int(&c, (int64_t)job->state);
    put_u64(&c, job->attempts);
    put_int(&c, job->cancel);
    put_u64(&c, job->started_ms);
    put_text(&c, job->machine_id);
    put_u64(&c, job->kept_bytes);
    r = call_row(&c, err);
    return r < 0 ? r : changed_one(s, job->id, "put down the state of a job", err);
}

static int end_row(const struct jobstore *s, const struct job_info *job, struct err *err)
{
    auto_call struct call c = call_of(s, STMT_END, "put down the end of a job");
    int r = 0;

    put_text(&c, job->id);
    put_u64(&c, job->attempts);
    put_int(&c, job->cancel);
    put_u64(&c, job->started_ms);
    put_text(&c, job->machine_id);
    put_u64(&c, job->kept_bytes);
    put_int(&c, job->verdict);
    put_text(&c, job->reason);
    put_u64(&c, job->ended_ms);
    r = call_row(&c, err);
    return r < 0 ? r : changed_one(s, job->id, "put down the end of a job", err);
}

static int charge_tenant(const struct jobstore *s, const char *id,
                         const struct jobstore_charge *charge, struct err *err)
{
    auto_call struct call c = call_of(s, STMT_CHARGE, "charge a tenant");

    put_text(&c, id);
    put_u64(&c, charge->cpu_ns);
    put_u64(&c, charge->wall_ns);
    return call_row(&c, err);
}

int jobstore_end(struct jobstore *s, const struct job_info *job,
                 const struct jobstore_charge *charge, struct err *err)
{
    int r = 0;

    if (!job_id_ok(job->id)) {
        return no_job("put down the end of a job", err);
    }
    if (job->verdict < 0 || (size_t)job->verdict >= JOBSTORE_VERDICTS) {
        return err_usage(err, "put down the end of a job: it has no verdict");
    }
    r = begin(s, "put down the end of a job", err);
    if (r < 0) {
        return r;
    }
    r = end_row(s, job, err);
    if (r == 0 && charge != NULL) {
        r = charge_tenant(s, job->id, charge, err);
    }
    return commit(s, r, "put down the end of a job", err);
}

int jobstore_purged(struct jobstore *s, const char *id, struct err *err)
{
    auto_call struct call c = call_of(s, STMT_PURGED, "put down that a job was purged");
    struct job_info job;
    int r = 0;

    put_text(&c, id);
    r = call_row(&c, err);
    if (r < 0 || sqlite3_changes64(s->db) == 1) {
        return r;
    }
    r = jobstore_get(s, NULL, id, &job, err);
    return r < 0 ? r : err_set(err, ERR_USAGE, EBUSY, "the job has not ended: cancel it first");
}

int jobstore_unended(struct jobstore *s, const char *after, struct jobstore_page *page,
                     struct err *err)
{
    auto_call struct call c = call_of(s, STMT_UNENDED, "list the jobs that have not ended");
    uint64_t seq = 0;
    int r = *after != '\0' ? place_of(s, "", after, &seq, NULL, err) : 0;

    if (r < 0) {
        return r;
    }
    put_u64(&c, seq);
    put_limit(&c, page);
    return get_jobs(&c, page, err);
}

int jobstore_kept(struct jobstore *s, const char *tenant, const char *after,
                  struct jobstore_page *page, struct err *err)
{
    auto_call struct call c =
        call_of(s, tenant != NULL ? STMT_KEPT_OF : STMT_KEPT, "list the jobs that keep bytes");
    uint64_t ended_ms = 0;
    uint64_t seq = 0;
    int r = 0;

    if (*after != '\0') {
        r = place_of(s, tenant != NULL ? tenant : "", after, &seq, &ended_ms, err);
    }
    if (r < 0) {
        return r;
    }
    put_u64(&c, ended_ms);
    put_u64(&c, seq);
    put_limit(&c, page);
    if (tenant != NULL) {
        put_text(&c, tenant);
    }
    return get_jobs(&c, page, err);
}

static int get_account(const struct jobstore *s, const char *tenant, struct jobstore_tenant *ret,
                       struct err *err)
{
    auto_call struct call c = call_of(s, STMT_ACCOUNT, "look up a tenant");
    int r = 0;

    put_text(&c, tenant);
    r = call_row(&c, err);
    if (r > 0 && (!get_u64(c.st, 0, INT64_MAX, &ret->charged_jobs) ||
                  !get_u64(c.st, 1, INT64_MAX, &ret->charged.cpu_ns) ||
                  !get_u64(c.st, 2, INT64_MAX, &ret->charged.wall_ns))) {
        return odd_row(err);
    }
    return r < 0 ? r : 0;
}

int jobstore_tenant(struct jobstore *s, const char *tenant, struct jobstore_tenant *ret,
                    struct err *err)
{
    auto_call struct call c = call_of(s, STMT_TENANT, "look up a tenant");
    struct jobstore_tenant t = {.kept_bytes = 0};
    int r = 0;

    if (strlen(tenant) >= sizeof(t.name)) {
        return err_usage(err, "look up a tenant: the name is too long");
    }
    memcpy(t.name, tenant, strlen(tenant) + 1);
    put_text(&c, tenant);
    while ((r = call_row(&c, err)) > 0) {
        uint64_t state = 0;
        uint64_t jobs = 0;
        uint64_t bytes = 0;

        if (!get_u64(c.st, 0, JOB_ENDED, &state) || !get_u64(c.st, 1, INT64_MAX, &jobs) ||
            !get_u64(c.st, 2, INT64_MAX, &bytes)) {
            return odd_row(err);
        }
        t.states[state] += jobs;
        t.kept_bytes += bytes;
    }
    if (r == 0) {
        r = get_account(s, tenant, &t, err);
    }
    if (r == 0) {
        *ret = t;
    }
    return r;
}

int jobstore_tenants(struct jobstore *s, const char *after, char (*ret)[JOB_TENANT_SIZE],
                     size_t max, size_t *ret_n, struct err *err)
{
    auto_call struct call c = call_of(s, STMT_TENANTS, "list the tenants");
    size_t n = 0;
    int r = 0;

    put_text(&c, after);
    put_u64(&c, max);
    while (n < max && (r = call_row(&c, err)) > 0) {
        if (!get_text(c.st, 0, ret[n], JOB_TENANT_SIZE)) {
            return odd_row(err);
        }
        n++;
    }
    if (r >= 0) {
        *ret_n = n;
    }
    return r < 0 ? r : 0;
}

int jobstore_counts(struct jobstore *s, struct jobstore_counts *ret, struct err *err)
{
    auto_call struct call c = call_of(s, STMT_COUNTS, "count the jobs");
    struct jobstore_counts counts = {.kept_bytes = 0};
    int r = 0;

    while ((r = call_row(&c, err)) > 0) {
        int64_t verdict = sqlite3_column_int64(c.st, 1);
        uint64_t state = 0;
        uint64_t jobs = 0;
        uint64_t bytes = 0;

        if (!get_u64(c.st, 0, JOB_ENDED, &state) || verdict < -1 ||
            verdict >= (int64_t)JOBSTORE_VERDICTS || !get_u64(c.st, 2, INT64_MAX, &jobs) ||
            !get_u64(c.st, 3, INT64_MAX, &bytes)) {
            return odd_row(err);
        }
        counts.states[state] += jobs;
        counts.kept_bytes += bytes;
        if (verdict >= 0) {
            counts.verdicts[verdict] += jobs;
        }
    }
    if (r == 0) {
        *ret = counts;
    }
    return r;
}

/* A bounded deletion; the values were bound. */
static int delete_some(struct call *c, uint64_t *ret_n, struct err *err)
{
    int r = call_row(c, err);

    if (r == 0) {
        *ret_n = (uint64_t)sqlite3_changes64(c->s->db);
    }
    return r;
}

static int count_rows(const struct jobstore *s, uint64_t *ret, struct err *err)
{
    auto_call struct call c = call_of(s, STMT_ROWS, "count the jobs");
    int r = call_row(&c, err);

    if (r > 0 && !get_u64(c.st, 0, INT64_MAX, ret)) {
        return odd_row(err);
    }
    return r < 0 ? r : 0;
}

static int forget_some(const struct jobstore *s, uint64_t before_ms, uint64_t max_rows,
                       uint64_t *ret_n, struct err *err)
{
    auto_call struct call before = call_of(s, STMT_FORGET_BEFORE, "forget old jobs");
    auto_call struct call oldest = call_of(s, STMT_FORGET_OLDEST, "forget old jobs");
    uint64_t rows = 0;
    uint64_t more = 0;
    uint64_t room = 0;
    uint64_t n = 0;
    int r = 0;

    put_u64(&before, before_ms);
    put_u64(&before, JOBSTORE_DELETE_MAX);
    r = delete_some(&before, &n, err);
    if (r == 0) {
        r = count_rows(s, &rows, err);
    }
    if (r < 0) {
        return r;
    }
    room = JOBSTORE_DELETE_MAX - n;
    more = rows > max_rows ? rows - max_rows : 0;
    more = more < room ? more : room;
    if (more > 0) {
        put_u64(&oldest, more);
        r = delete_some(&oldest, &more, err);
    }
    if (r == 0) {
        *ret_n = n + more;
    }
    return r;
}

int jobstore_forget(struct jobstore *s, uint64_t before_ms, uint64_t max_rows, uint64_t *ret_n,
                    struct err *err)
{
    uint64_t n = 0;
    int r = begin(s, "forget old jobs", err);

    if (r < 0) {
        return r;
    }
    r = commit(s, forget_some(s, before_ms, max_rows, &n, err), "forget old jobs", err);
    if (r == 0) {
        *ret_n = n;
    }
    return r;
}

int jobstore_expire_keys(struct jobstore *s, uint64_t now_ms, uint64_t *ret_n, struct err *err)
{
    auto_call struct call c = call_of(s, STMT_KEYS_EXPIRE, "forget old Idempotency-Keys");

    put_u64(&c, key_since(now_ms));
    put_u64(&c, JOBSTORE_DELETE_MAX);
    return delete_some(&c, ret_n, err);
}
