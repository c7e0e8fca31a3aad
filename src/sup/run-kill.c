/*
 * How a machine ends.  What decides is recorded already and nothing here changes it.
 *
 *   1. The agent is asked (STOP) for its last report, if it can still be believed and heard, for at
 *      most RUN_ASK_NS.
 *   2. SIGKILL through the pidfd, whatever came of that.
 *   3. If the monitor is not reaped RUN_PIDFD_NS later, or something else lives in the machine's
 *      control groups: cgroup.kill, as long as RUN_KILL_DEADLINE_NS allows.
 *
 * 1 and 2 together stay within the grace of 250 ms; only a host that cannot end a process needs 3.
 */
#include <poll.h>
#include <string.h>

#include "base/str.h"

#include "sup/run-internal.h"
#include "sup/run.h"
#include "sys/clock.h"

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

/* A limit of ours struck, so the guest may be honest; and somebody will read what it counted. */
static bool is_worth_asking(const struct run *run)
{
    const struct event *by = verdict_decide(&run->events).decided_by;

    switch ((int)(by != NULL ? by->kind : EVENT_KINDS)) {
    case EVENT_WALL_LIMIT:
    case EVENT_CPU_LIMIT:
    case EVENT_STDOUT_CAP:
    case EVENT_STDERR_CAP:
        return true;
    case EVENT_CANCELED:
        return !run->client->gone;
    default: /* the agent failed, lied or is gone, or the host has other worries */
        return false;
    }
}

static const char *ask_agent(struct run *run)
{
    struct session *s = &run->session;
    uint64_t until = clock_mono_ns() + RUN_ASK_NS;

    if (!is_worth_asking(run) || !session_ask(s)) {
        return "not_asked";
    }
    while (!s->answered && !s->closed) {
        struct pollfd p = {.fd = s->fd, .events = POLLIN};
        uint64_t now = clock_mono_ns();
        uint64_t left = now < until ? until - now : 0;
        struct timespec ts = {.tv_sec = (time_t)(left / NS_PER_S),
                              .tv_nsec = (long)(left % NS_PER_S)};
        struct err bad = ERR_INIT;

        if (left == 0 || ppoll(&p, 1, &ts, NULL) < 0 ||
            (p.revents != 0 && session_read(s, run_now(run), &bad) < 0)) {
            break;
        }
    }
    if (s->answered) {
        run->result.last_report = &s->last_report;
    }
    return s->answered ? "answered" : "silent";
}

static bool has_ended(const struct proc *proc)
{
    struct pollfd p = {.fd = proc->pidfd, .events = POLLIN};

    return poll(&p, 1, 0) == 1 && p.revents != 0;
}

/* True if the monitor was reaped. */
static bool end_monitor(struct run *run)
{
    struct err err = ERR_INIT;
    struct err again = ERR_INIT;
    struct proc_end end = {0};
    struct proc *proc = &run->machine.proc;
    bool reaped = false;

    run->result.ended_by = has_ended(proc) ? "itself" : "pidfd";
    proc_kill(proc);
    reaped = proc_wait(proc, RUN_PIDFD_NS, &end, &err) == 0;
    if (reaped && !hold_has_processes(run->hold)) {
        return true;
    }
    run->result.ended_by = "cgroup";
    err = (struct err)ERR_INIT;
    (void)!hold_kill(run->hold, &err); /* if this fails the release tells it */
    return reaped || proc_wait(proc, RUN_KILL_DEADLINE_NS, &end, &again) == 0;
}

void run_kill_machine(struct run *run)
{
    pid_t pid = run->machine.proc.pid;
    bool reaped = true;
    uint64_t cpu = 0;

    if (!run->machine_made) {
        note_panic(run); /* of a boot that was to be saved */
        return;
    }
    session_end(&run->session);
    /* Before the agent is asked: what follows is not the program's. */
    cpu = host_process_cpu_ns(pid);
    run->result.cpu_ns = run->wall_deadline != 0 ? run_cpu_used(run, cpu) : 0;
    run->result.stop = ask_agent(run);
    run->result.machine_cpu_ns = host_process_cpu_ns(pid);
    run->result.machine_rss_bytes = host_process_peak_rss(pid);
    reaped = end_monitor(run);
    run->result.phases.killed = run_now(run);
    /* The program's last words that were on their way when the limit struck; the end of file comes
     * with the monitor's end, and is waited for no longer than that end was. */
    while (reaped && run->session_made && !run->session.closed &&
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
