/*
 * How it works.  The row of a job that had not ended when the last daemon did says how far it was:
 *
 *   queued               it waits again, in its old place
 *   starting, running    its result may be there already: then only the row was missing.  Else the
 *                        supervisor saw the daemon go and ended the job (sup.h); its record says
 *                        whether the program had started.  If not, the job waits again; if it did,
 *                        or if nobody can tell, it ends as sandbox_failure and is not run twice.
 *
 * A record comes a moment after the daemon's death: it is asked for until it is there, or until the
 * launcher says that nobody is left to write one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/service-internal.h"
#include "job/result.h"
#include "job/spec-wire.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define PAGE      64
#define TRIES_MAX 60u /* a second each: a supervisor has 15 s to clean up, its reaper more */

static void interrupted(struct service *s, const char *id, const char *text)
{
    ending_waiting(s, id, AIRLOCK_SANDBOX_FAILURE, "daemon", text);
}

static int recover_spec(int dirfd, struct spec *ret, uint64_t *ret_bytes, struct err *err)
{
    auto_wiped_buf struct buf text = BUF_INIT(SPEC_WIRE_MAX);
    auto_fd int file = -1;
    int r = jobfiles_spec(dirfd, &file, err);

    if (r == 0) {
        r = fd_read_all(file, "a job's specification", &text, err);
    }
    if (r == 0) {
        r = spec_decode(ret, text.data, text.len, err);
    }
    if (r == 0) {
        r = spec_check(ret, err);
    }
    *ret_bytes = text.len;
    return r;
}

static int read_spec(struct service *s, const char *id, struct spec *ret, uint64_t *ret_bytes,
                     struct err *err)
{
    auto_fd int dir = -1;
    int r = jobfiles_find(s->c.jobs_fd, id, &dir, err);

    if (r == 0) {
        return err_set(err, ERR_HOST, ENOENT, "its directory is gone");
    }
    return r < 0 ? r : recover_spec(dir, ret, ret_bytes, err);
}

static int restore(struct service *s, const struct job_info *info, struct err *err)
{
    uint64_t now_ms = service_real_ms();
    uint64_t now_ns = clock_mono_ns();
    struct queue_job q = {.priority = info->priority};
    enum capacity_resource too_little = CAPACITY_MACHINES;
    struct tenant tenant;
    auto_spec struct spec spec;
    int r = 0;

    spec_init(&spec);
    r = read_spec(s, info->id, &spec, &q.bytes, err);
    if (r < 0) {
        return r;
    }
    memcpy(q.id, info->id, sizeof(q.id));
    memcpy(q.tenant, info->tenant, sizeof(q.tenant));
    q.wall_ns = spec.limits.wall_ns;
    capacity_need_of(&spec, &q.need);
    if (!capacity_fits(&s->total, &q.need, &too_little) && too_little != CAPACITY_DISK) {
        return err_set(err, ERR_LIMIT, ENOSPC, "this host has too little %s for it by now",
                       capacity_name(too_little));
    }
    if (info->deadline_ms != 0) { /* one that is past is found by the next look */
        q.deadline_ns = now_ns + 1;
        if (info->deadline_ms > now_ms) {
            q.deadline_ns = now_ns + (info->deadline_ms - now_ms) * NS_PER_MS;
        }
    }
    service_quota(s, info->tenant, &tenant);
    plan_note(&s->plan, &spec);
    return queue_restore(
        s->queue, &q,
        &(struct queue_quota){.concurrent = tenant.quota.concurrent, .queued = tenant.quota.queued},
        now_ns, err);
}

/* It had not started: it waits as it did. */
static void wait_again(struct service *s, struct job_info *info)
{
    struct err err = ERR_INIT;
    int r = 0;

    if (info->cancel) {
        ending_waiting(s, info->id, AIRLOCK_CANCELED, "",
                       "the caller canceled the job before it started");
        return;
    }
    if (info->state != JOB_QUEUED) {
        info->state = JOB_QUEUED;
        r = jobstore_update(s->c.store, info, &err);
    }
    if (r == 0) {
        r = restore(s, info, &err);
    }
    if (r < 0) {
        service_complain(s, "restore", info->id, &err);
        interrupted(s, info->id, "the job could not be taken up after a restart of airlockd");
    }
}

/* True if the job had its result already: the row follows. */
static bool end_by_result(struct service *s, const struct job_info *info)
{
    struct buf json = BUF_INIT(RESULT_JSON_MAX);
    struct err ignored = ERR_INIT;
    auto_fd int dir = -1;
    bool there = jobfiles_find(s->c.jobs_fd, info->id, &dir, &ignored) == 1 &&
                 jobfiles_result(dir, &json, &ignored) == 0;
    struct active *a = there ? ending_load(s, info->id) : NULL;

    if (a != NULL) {
        ending_result(a, json.data, json.len);
    }
    buf_fini(&json);
    return there;
}

static void take_up(struct service *s, struct job_info *info)
{
    if (end_by_result(s, info)) {
        return;
    }
    if (info->state == JOB_QUEUED) {
        wait_again(s, info);
    } else if (info->machine_id[0] != '\0') {
        upkeep_ask_record(s, info, true, 0);
    } else {
        interrupted(s, info->id, "airlockd ended while the job's machine was being made");
    }
    log_event(s->c.log, LOG_INFO, "job-recovered", info->id,
              LOG_TEXT("state", job_state_name(info->state)));
}

static int is_known(void *ctx, const char *id, struct err *err)
{
    const struct service *s = ctx;
    struct job_info info;
    struct err why = ERR_INIT;
    int r = jobstore_get(s->c.store, NULL, id, &info, &why);

    if (r == 0) {
        return !info.purged;
    }
    if (r == -ENOENT) {
        return 0;
    }
    *err = why;
    return r;
}

static int sweep(struct service *s, struct err *err)
{
    struct jobfiles_swept swept = {0};
    int r = jobfiles_sweep(s->c.jobs_fd, is_known, s, &swept, err);

    if (r == 0 && swept.orphans + swept.leftovers + swept.foreign > 0) {
        log_event(s->c.log, LOG_WARNING, "swept", NULL, LOG_NUMBER("orphans", swept.orphans),
                  LOG_NUMBER("leftovers", swept.leftovers), LOG_NUMBER("foreign", swept.foreign));
    }
    return r;
}

int recover_jobs(struct service *s, struct err *err)
{
    char after[JOB_ID_SIZE] = "";
    struct capacity capacity;
    struct job_info jobs[PAGE];
    struct jobstore_page page = {.jobs = jobs, .max = PAGE, .more = true};
    int r = capacity_read(s->c.state_fd, &s->c.config->capacity, &capacity, err);

    if (r < 0) {
        return r;
    }
    s->total = capacity.total;
    queue_set_total(s->queue, &capacity.total);
    while (page.more) {
        r = jobstore_unended(s->c.store, after, &page, err);
        if (r < 0) {
            return r;
        }
        for (size_t i = 0; i < page.n; i++) {
            memcpy(after, jobs[i].id, sizeof(after));
            take_up(s, &jobs[i]);
        }
    }
    return sweep(s, err);
}

/* A record that lost the phases can't say that it had not. */
static bool had_started(const json_t *record)
{
    const json_t *phases = json_object_get(record, "phases");
    const json_t *started = json_object_get(phases, "started_ns");

    return !json_is_object(phases) || started == NULL || json_is_integer(started);
}

/* Whether the supervisor gave more of a stream than was kept, or the program wrote more than that. */
static bool was_cut(const json_t *record, const char *name, uint64_t kept)
{
    const json_t *stream = json_object_get(record, name);
    json_int_t bytes = json_integer_value(json_object_get(stream, "bytes"));

    return json_is_true(json_object_get(stream, "truncated")) ||
           (bytes > 0 && (uint64_t)bytes > kept);
}

/* A job that had started, or may have. record: of its supervisor; NULL if there is none. */
static void end_started(struct service *s, const char *id, const json_t *record)
{
    const char *state = json_string_value(json_object_get(record, "state"));
    struct active *a = ending_load(s, id);

    if (a == NULL) {
        return;
    }
    if (state != NULL && strcmp(state, "lost") != 0) { /* whoever wrote that saw no output */
        a->cut_known = true;
        a->stdout_cut = was_cut(record, "stdout", a->files.stdout_bytes);
        a->stderr_cut = was_cut(record, "stderr", a->files.stderr_bytes);
    }
    ending_own(s, a, AIRLOCK_SANDBOX_FAILURE, "daemon",
               record != NULL
                   ? "airlockd ended while the job ran; it was not run again"
                   : "airlockd ended while the job ran or was about to, and nobody is left who "
                     "knows which; it was not run again");
}

void recover_answer(struct service *s, const struct asked_record *asked,
                    const struct launcher_answer *answer)
{
    json_auto_t *record = NULL;
    struct job_info info;
    struct err err = ERR_INIT;

    if (jobstore_get(s->c.store, NULL, asked->id, &info, &err) < 0) {
        service_complain(s, "store", asked->id, &err);
        return;
    }
    if (info.state == JOB_ENDED) {
        return;
    }
    if (answer->failed == ENOENT && asked->tries < TRIES_MAX) {
        upkeep_ask_record(s, &info, true, asked->tries + 1);
        return;
    }
    if (answer->failed == 0) {
        record =
            json_loadb((const char *)answer->text.data, answer->text.len, JSON_ALLOW_NUL, NULL);
    }
    if (record != NULL && !had_started(record)) {
        wait_again(s, &info);
    } else {
        end_started(s, asked->id, record);
    }
}
