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

void run_export(struct run *run)
{
    struct err err = ERR_INIT;

    if (run->over || !ended_well(run) || run->result.outputs == NULL) {
        return;
    }
    if (run->spec->out_dir != NULL) {
        if (outputs_export(run->output_fd, &run->inspection.outputs, run->spec->out_dir,
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
