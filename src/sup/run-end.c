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

int run_answer(struct run *run)
{
    auto_buf struct buf json = BUF_INIT(RESULT_JSON_MAX);
    int r = result_json(&run->result, &json);

    if (r == 0) {
        r = client_put(run->client, SUP_RESULT, json.data, json.len);
    }
    return r;
}
