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

/* Bytes of the line that begins at s, as far as an event has room for them. */
static size_t line_len(const char *s)
{
    size_t n = strcspn(s, "\r\n");

    return n < 200 ? n : 200;
}

static void note_panic(struct run *run)
{
    auto_buf struct buf shown = BUF_INIT(SHOWN_MAX);
    const char *at = strstr(run->console, "Kernel panic");

    if (at != NULL && str_escape(&shown, at, line_len(at), false) == 0) {
        events_add(&run->events, EVENT_KERNEL_PANIC, run_now(run), NULL, (const char *)shown.data);
    }
}

void run_kill_machine(struct run *run)
{
    struct err err = ERR_INIT;
    struct proc_end end = {0};
    pid_t pid = run->machine.proc.pid;
    bool reaped = true;
    uint64_t cpu = 0;

    if (!run->machine_made) {
        return;
    }
    session_end(&run->session);
    cpu = host_process_cpu_ns(pid);
    run->result.machine_cpu_ns = cpu;
    run->result.cpu_ns = run->wall_deadline != 0 ? run_cpu_used(run, cpu) : 0;
    run->result.machine_rss_bytes = host_process_peak_rss(pid);
    proc_kill(&run->machine.proc);
    reaped = proc_wait(&run->machine.proc, RUN_KILL_DEADLINE_NS, &end, &err) == 0;
    run->result.phases.killed = run_now(run);
    /* The program's last words that were on their way when the limit struck; the end of file comes
     * with the monitor's end, and is waited for no longer than that end was. */
    while (reaped && !run->session.closed &&
           run_now(run) < run->result.phases.killed + RUN_KILL_DEADLINE_NS) {
        struct err bad = ERR_INIT;

        if (session_read(&run->session, run_now(run), &bad) < 0) {
            break;
        }
    }
    if (run->machine.console_fd >= 0) {
        run_read_console(run);
    }
    note_panic(run);
    run->result.checks[run->result.n_checks++] = (struct result_check){"monitor_reaped", reaped};
}

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
