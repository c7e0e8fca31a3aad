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
#include "sys/fsuser.h"

/* What the inspector found: the guest's stream is hostile, its reading is the host's. */
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

/* A contract is about the outputs of a program that says it succeeded. */
static bool ended_well(const struct run *run)
{
    return run->events.has_exit && !run->events.exit.signaled && run->events.exit.code == 0;
}

void run_inspect(struct run *run)
{
    struct err err = ERR_INIT;
    auto_buf struct buf text = BUF_INIT(SHOWN_MAX);
    struct outputs *outputs = &run->inspection.outputs;
    const struct contract none = {.kind = CONTRACT_NONE};
    const struct inspect_job job = {
        .stream_fd = run->output_fd,
        .stream_bytes = run->session.output_bytes,
        .limits = &run->spec->limits,
        .contract = ended_well(run) ? &run->spec->contract : &none,
        .uid = run->hold->slot.uid,
    };

    /* What was cut off at a cap is no complete stream. */
    if (run->over || !run->events.has_exit || run->session.state != SESSION_DONE) {
        return;
    }
    if (run->session.outputs_cut) { /* nobody wants them, and none is listed */
        run->result.outputs = outputs;
        return;
    }
    if (inspect_outputs(&job, &run->inspection, &err) < 0) {
        (void)!str_escape(&text, err.msg, strlen(err.msg), false);
        run_decide(run, inspect_event(&err), "inspect", (const char *)text.data);
        return;
    }
    run->result.outputs = outputs;
    run->result.phases.inspected = run_now(run);
    if (outputs->n_dropped > 0) {
        char note[96];

        (void)snprintf(note, sizeof(note), "%llu entries were refused, see 'dropped'",
                       (unsigned long long)(outputs->n_dropped + outputs->n_dropped_more));
        events_add(&run->events, EVENT_OUTPUT_DROPPED, run_now(run), NULL, note);
    }
    if (run->inspection.rule != NULL) {
        const char *message = run->inspection.message;

        (void)!str_escape(&text, message, strlen(message), false);
        run_decide(run, EVENT_OUTPUT_RULE, run->inspection.rule, (const char *)text.data);
    }
}

static int export(struct run *run, struct err *err)
{
    auto_fsuser struct fsuser user = FSUSER_INIT;
    int r = run->spec->out_as_owner ? fsuser_enter(&user, err) : 0;

    return r < 0 ? r
                 : outputs_export(run->output_fd, &run->inspection.outputs, run->spec->out_dir,
                                  run->result.machine_id, err);
}

void run_export(struct run *run)
{
    struct err err = ERR_INIT;

    if (run->over || !ended_well(run) || run->result.outputs == NULL) {
        return;
    }
    if (run->spec->out_dir != NULL) {
        if (export(run, &err) < 0) {
            run_decide(run, EVENT_HOST_FAULT, "export", err.msg);
            return;
        }
        run->result.outputs_exported = true;
        run->result.phases.exported = run_now(run);
    }
    events_add(&run->events, EVENT_ACCEPTED, run_now(run), NULL, NULL);
}

/* A member of a pool that ends without a job: there is no verdict, but a reason. */
static int answer_unfit(struct run *run)
{
    const struct event *by = verdict_decide(&run->events).decided_by;
    const char *why = by != NULL ? by->detail : "";

    return client_put(run->client, SUP_UNFIT, why, strlen(why));
}

int run_answer(struct run *run)
{
    auto_buf struct buf json = BUF_INIT(RESULT_JSON_MAX);
    int r = 0;

    if (!run->has_job) {
        return answer_unfit(run);
    }
    r = result_json(&run->result, &json);

    if (r == 0) {
        r = client_put(run->client, SUP_RESULT, json.data, json.len);
    }
    return r;
}
