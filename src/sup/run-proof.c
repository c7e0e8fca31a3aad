/*
 * How it works.  First everything of the job that has a descriptor is closed and its control groups
 * are removed; then each check of cleanup.h looks for what must be gone.  The record is written
 * before the slot is given back, as "ending", and once more when that was seen to work.  So whoever
 * kills this process at any moment leaves a record, or a slot from which the reaper or the next
 * start makes one.  A check that fails keeps the slot: in quarantine (quarantine.h), or, if control
 * groups or processes are what is left, as a stale slot, which clears itself once they are gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sup/cleanup.h"
#include "sup/quarantine.h"
#include "sup/records.h"
#include "sup/run-internal.h"
#include "sys/clock.h"
#include "sys/fd.h"

static void add(struct run *run, struct result_check check)
{
    struct result *r = &run->result;

    if (r->n_checks < RESULT_CHECKS_MAX) {
        r->checks[r->n_checks++] = check;
    }
}

/* A cleanup that went wrong decides nothing any more; it says what is left, where and why. */
static void complain(struct run *run, const char *text)
{
    events_add(&run->events, EVENT_HOST_FAULT, run_now(run), "cleanup", text);
}

void run_note_submission(struct run *run)
{
    uint64_t since = clock_mono_ns() - run->submitted_ns;

    run->record.submitted_realtime_ns = clock_ns(CLOCK_REALTIME) - since;
    run->reaper_work = (struct reaper_work){
        .out_dir = run->spec->out_dir,
        .out_as_owner = run->spec->out_as_owner,
        .machine_id = run->result.machine_id,
        .store_fd = run->store->dirfd,
        .lost = run_record_lost,
        .ctx = run,
    };
}

void run_prepare_proof(struct run *run)
{
    struct err err = ERR_INIT;

    run_note_submission(run);
    if (cleanup_count_mounts(run->store->path, &run->mounts_before, &err) < 0) {
        run_decide(run, EVENT_HOST_FAULT, "admit", err.msg);
    }
}

static void fill_streams(struct run *run)
{
    struct result_stream *streams[] = {&run->result.out, &run->result.err};
    struct session *s = &run->session;

    if (!run->session_made) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        streams[i]->data = run->captured[i].data;
        streams[i]->bytes = s->streams[i].bytes;
        streams[i]->truncated = s->streams[i].truncated;
    }
    run->result.phases.ready = s->ready_ns;
    run->result.phases.started = s->started_ns;
    run->result.phases.exited = s->exited_ns;
    run->result.phases.collected = s->collected_ns;
    run->result.stderr_tail = s->tail;
}

/* The last look at stdin's file: its digest is evidence, its content is not kept. */
static void note_stdin(struct run *run)
{
    struct err err = ERR_INIT;
    uint64_t bytes = 0;

    if (run->input.fd < 0) {
        return;
    }
    run->record.has_stdin = true;
    run->record.stdin_bytes = run->input.bytes;
    if (digest_of_fd(run->input.fd, &run->record.stdin_digest, &bytes, &err) < 0) {
        run->record.stdin_digest = (struct digest){""};
    }
}

static void close_job(struct run *run)
{
    fd_close_p(&run->machine.channel_fd);
    fd_close_p(&run->machine.console_fd);
    fd_close_p(&run->machine.control_fd);
    template_fini(&run->template);
    fd_close_p(&run->stage.input_fd);
    fd_close_p(&run->stage.write_fd);
    fd_close_p(&run->stage.scratch_fd);
    fd_close_p(&run->input.fd);
    fd_close_p(&run->output_fd);
}

static int put_record(struct run *run, bool replace, struct err *err)
{
    auto_buf struct buf json = BUF_INIT(RECORD_JSON_MAX);
    int r = record_json(&run->result, &run->record, &json);

    if (r < 0) {
        return err_sys_num(err, -r, "make the record of the job");
    }
    return records_put(run->store->dirfd, run->result.machine_id, &json, replace,
                       &records_limits_default, err);
}

static void keep_record(struct run *run, enum record_state state)
{
    struct err err = ERR_INIT;

    run->record.state = state;
    run->record.written_by = "supervisor";
    if (run->has_job && run->result.machine_id[0] != '\0' && put_record(run, true, &err) < 0) {
        complain(run, err.msg);
    }
}

/* In the reaper, with what was known when it was forked. */
void run_record_lost(void *ctx, bool swept)
{
    struct run *run = ctx;
    struct err err = ERR_INIT;

    run->record.state = RECORD_LOST;
    run->record.written_by = "reaper";
    run->result.phases = (struct result_phases){0};
    if (!run->has_job) { /* a machine was lost, and no job */
        return;
    }
    if (!swept) {
        (void)snprintf(run->lost_group, sizeof(run->lost_group), "%s", run->hold->slot.group);
        events_add(&run->events, EVENT_HOST_FAULT, run_now(run), "supervisor_lost", NULL);
        run->lost_stored = put_record(run, false, &err) == 0;
        return;
    }
    add(run, cleanup_no_group(&run->hold->host, run->lost_group));
    add(run, cleanup_no_staging(run->spec->out_dir, run->result.machine_id));
    if (run->lost_stored && put_record(run, true, &err) < 0) {
        _exit(1); /* the first record stays, which claims nothing */
    }
}

static bool failed(const struct result *r, const char *name)
{
    for (size_t i = 0; i < r->n_checks; i++) {
        if (strcmp(r->checks[i].name, name) == 0) {
            return !r->checks[i].ok;
        }
    }
    return false;
}

/*
 * The first failed check that does not mend itself, or NULL: processes that a control group still
 * holds end some time, and reaper and later starts look for that.
 */
static const struct result_check *must_stay(const struct result *r)
{
    static const char *const mend[] = {"monitor_reaped", "no_processes_left", "control_group_gone"};
    bool held = failed(r, "control_group_gone");

    for (size_t i = 0; i < r->n_checks; i++) {
        bool mends = false;

        for (size_t m = 0; m < ARRAY_LEN(mend); m++) {
            mends = mends || (held && strcmp(r->checks[i].name, mend[m]) == 0);
        }
        if (!r->checks[i].ok && !mends) {
            return &r->checks[i];
        }
    }
    return NULL;
}

static bool all_ok(const struct result *r)
{
    for (size_t i = 0; i < r->n_checks; i++) {
        if (!r->checks[i].ok) {
            return false;
        }
    }
    return true;
}

/* Only what was proven to be clean goes back. */
static void release_slot(struct run *run)
{
    auto_fd int kept = run->hold->slot.fd >= 0 ? fcntl(run->hold->slot.fd, F_DUPFD_CLOEXEC, 0) : -1;
    unsigned int number = run->hold->slot.number;
    const struct result_check *why = must_stay(&run->result);
    struct err err = ERR_INIT;
    char text[400];

    if (run->hold->slot.fd >= 0 && why != NULL) {
        (void)snprintf(text, sizeof(text), "%s: %s", why->name, why->detail);
        if (quarantine_put(&run->hold->slot, run->result.machine_id, text, &err) < 0) {
            complain(run, err.msg);
        } else {
            complain(run, text);
        }
    }
    if (all_ok(&run->result)) {
        ledger_release(&run->hold->slot);
    }
    add(run, cleanup_slot_released(kept, number));
}

void run_prove_cleanup(struct run *run)
{
    const int files[] = {run->stage.input_fd, run->stage.scratch_fd, run->output_fd, run->input.fd};
    const int keep[] = {run->client->fd, run->spec->stdin_fd};
    struct err err = ERR_INIT;
    bool ungrouped = false;

    fill_streams(run);
    note_stdin(run);
    reaper_dismiss(&run->former);
    add(run, cleanup_no_names(files, ARRAY_LEN(files)));
    close_job(run);
    ungrouped = hold_release_groups(run->hold, &err) == 0;
    if (!ungrouped) {
        complain(run, err.msg);
    }
    add(run, cleanup_no_processes(run->reaper.proc.pid));
    add(run, cleanup_no_group(&run->hold->host, run->hold->slot.group));
    add(run, cleanup_no_mounts(run->store->path, run->mounts_before));
    add(run, cleanup_no_descriptors(keep, ARRAY_LEN(keep), run->store->tmpfd));
    add(run, cleanup_no_staging(run->spec->out_dir, run->result.machine_id));
    keep_record(run, RECORD_ENDING);
    release_slot(run);
    if (ungrouped) {
        reaper_dismiss(&run->reaper); /* else it tries again when we are gone */
    }
    run->result.phases.cleaned = run_now(run);
    keep_record(run, RECORD_FINISHED);
}
