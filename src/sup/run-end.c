#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/str.h"

#include "sup/run-internal.h"
#include "sup/run.h"
#include "sys/clock.h"
#include "sys/fd.h"

/* What outputs_inspect() found: the guest's stream is hostile, its reading is the host's. */
static enum event_kind inspect_event(const struct err *err)
{
    switch (err->class) {
    case ERR_HOST:
        return EVENT_HOST_FAULT;
    case ERR_LIMIT: /* the agent should have stopped there: it was not ours that sent this */
        return err->errnum == EMFILE         ? EVENT_OUTPUT_FILES_CAP
               : err->errnum == ENAMETOOLONG ? EVENT_OUTPUT_DEPTH_CAP
                                             : EVENT_OUTPUT_BYTES_CAP;
    case ERR_NONE:
    case ERR_USAGE:
    case ERR_GUEST:
    default:
        return EVENT_PROTOCOL;
    }
}

void run_inspect(struct run *run)
{
    struct err err = ERR_INIT;
    auto_buf struct buf text = BUF_INIT(SHOWN_MAX);

    /* What was cut off at a cap is no complete stream. */
    if (run->over || !run->events.has_exit || run->session.state != SESSION_DONE) {
        return;
    }
    if (outputs_inspect(run->output_fd, run->session.output_bytes, &run->spec->limits,
                        &run->outputs, &err) < 0) {
        (void)!str_escape(&text, err.msg, strlen(err.msg), false);
        run_decide(run, inspect_event(&err), "inspect", (const char *)text.data);
        return;
    }
    run->result.outputs = &run->outputs;
    run->result.phases.inspected = run_now(run);
    if (run->outputs.n_dropped > 0) {
        char note[96];

        (void)snprintf(note, sizeof(note), "%llu entries were refused, see 'dropped'",
                       (unsigned long long)(run->outputs.n_dropped + run->outputs.n_dropped_more));
        events_add(&run->events, EVENT_OUTPUT_DROPPED, run_now(run), NULL, note);
    }
}

void run_export(struct run *run)
{
    struct err err = ERR_INIT;
    const struct msg_exit *e = &run->events.exit;

    if (run->over || !run->events.has_exit || e->signaled || e->code != 0 ||
        run->result.outputs == NULL) {
        return;
    }
    if (run->spec->out_dir != NULL) {
        if (outputs_export(run->output_fd, &run->outputs, run->spec->out_dir,
                           run->result.machine_id, &err) < 0) {
            run_decide(run, EVENT_HOST_FAULT, "export", err.msg);
            return;
        }
        run->result.outputs_exported = true;
        run->result.phases.exported = run_now(run);
    }
    events_add(&run->events, EVENT_ACCEPTED, run_now(run), NULL, NULL);
}

static bool is_unnamed(int fd)
{
    struct stat st;

    return fd < 0 || (fstat(fd, &st) == 0 && st.st_nlink == 0);
}

/* Each check is made, not assumed: the answer carries what was found. */
void run_prove_cleanup(struct run *run)
{
    struct result *r = &run->result;
    siginfo_t info = {0};
    bool unnamed = is_unnamed(run->stage.input_fd) && is_unnamed(run->stage.scratch_fd) &&
                   is_unnamed(run->output_fd) && is_unnamed(run->input.fd);
    bool no_children = false;
    struct err err = ERR_INIT;
    bool released = hold_release(run->hold, &err) == 0;

    if (released) {
        reaper_dismiss(&run->reaper); /* else it tries again when we are gone */
    } else { /* decides nothing any more; says what is left, where and why */
        events_add(&run->events, EVENT_HOST_FAULT, run_now(run), "cleanup", err.msg);
    }
    /* We are a subreaper: whatever any helper left behind would be our child by now. */
    no_children = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
    r->checks[r->n_checks++] = (struct result_check){"no_processes_left", no_children};
    r->checks[r->n_checks++] = (struct result_check){"files_unnamed", unnamed};
    r->checks[r->n_checks++] = (struct result_check){"cgroup_and_slot_released", released};
    r->phases.cleaned = run_now(run);
}

int run_answer(struct run *run)
{
    auto_buf struct buf json = BUF_INIT(RESULT_JSON_MAX);
    struct session *s = &run->session;
    int r = 0;

    if (run->machine_made) {
        struct result_stream *streams[] = {&run->result.out, &run->result.err};

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
    r = result_json(&run->result, &json);
    if (r == 0) {
        r = client_put(run->client, SUP_RESULT, json.data, json.len);
    }
    return r;
}
