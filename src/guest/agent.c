#include "guest/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest/cgroup.h"
#include "guest/collect.h"
#include "guest/job.h"
#include "guest/paths.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define KILL_TIMEOUT_NS (10 * NS_PER_S)

/* Everything of the job, now; nothing is waited for. */
static void kill_all(struct agent *a)
{
    struct err ignored = ERR_INIT;

    if (cgroup_kill(&ignored) < 0) {
        boot_complain(ignored.msg);
    }
    child_kill(&a->child);
    if (a->job.root && getpid() == 1) {
        (void)kill(-1, SIGKILL); /* it may have left its cgroup, and has no pid namespace */
    }
}

void agent_fail(struct agent *a, const char *phase, const struct err *err)
{
    struct msg_failed m = {.errnum = (uint32_t)err->errnum};
    struct buf buf = BUF_INIT(1024);
    struct err again = ERR_INIT;

    boot_complain(err->msg);
    if (a->state == AGENT_FAILED) {
        return;
    }
    (void)snprintf(m.phase, sizeof(m.phase), "%s", phase);
    (void)snprintf(m.text, sizeof(m.text), "%.*s", (int)sizeof(m.text) - 1, err->msg);
    if (msg_failed_encode(&m, &buf) == 0 &&
        channel_send(&a->ch, FRAME_FAILED, buf.data, buf.len, &again) < 0) {
        boot_complain(again.msg);
    }
    buf_fini(&buf);
    if (a->state != AGENT_WAIT_JOB && a->state != AGENT_DONE) {
        kill_all(a);
    }
    streams_fini(&a->io);
    a->state = AGENT_FAILED;
}

static int open_streams(struct agent *a, struct err *err)
{
    int r = 0;

    if (!a->job.warm) {
        r = streams_open(&a->io, err);
        if (r == 0) {
            r = streams_give(&a->io, PROGRAM_UID, PROGRAM_GID, err);
        }
    }
    return r < 0 ? r : streams_fit(&a->io, &a->job, err);
}

static int start_child(struct agent *a, struct err *err)
{
    const struct child_spec spec = {.argv = a->job.argv,
                                    .envp = a->job.envp,
                                    .stdio = a->io.child,
                                    .root = a->job.root,
                                    .go_fd = -1};
    int r = 0;

    if (a->job.warm) {
        a->main_pid = a->warm.pid;
        a->child.rehearses = a->job.rehearsal;
        return warm_go(&a->warm, &a->job, err);
    }
    r = child_start(&spec, &a->child, err);
    if (r == 0) {
        streams_close_child(&a->io);
    }
    return r;
}

static int decode_job(struct agent *a, const struct frame *frame, struct err *err)
{
    int r = msg_job_decode(frame->data, frame->len, &a->job, err);

    if (r == 0 && a->job.warm && a->warm.go_fd < 0) {
        r = err_guest(err, "job: no interpreter waits for one");
    } else if (r == 0 && !a->job.warm && a->warm.go_fd >= 0) {
        r = err_guest(err, "job: an interpreter waits, and it is for none");
    }
    return r;
}

static void start(struct agent *a, const struct frame *frame)
{
    struct err err = ERR_INIT;
    const char *phase = "job";

    if (decode_job(a, frame, &err) < 0 || job_apply(&a->boot, &a->job, &phase, &err) < 0) {
        agent_fail(a, phase, &err);
        return;
    }
    if (open_streams(a, &err) < 0) {
        agent_fail(a, "pipe", &err);
        return;
    }
    pressure_begin(&a->pressure, a->job.memory_bytes);
    if (oom_log_begin(&a->oom, &err) < 0 || start_child(a, &err) < 0) {
        agent_fail(a, "start", &err);
        return;
    }
    a->state = AGENT_STARTING;
}

static bool is_live(const struct agent *a)
{
    return a->state == AGENT_STARTING || a->state == AGENT_RUNNING;
}

static void on_frame(struct agent *a, const struct frame *frame)
{
    struct err err = ERR_INIT;

    switch (frame->type) {
    case FRAME_JOB:
        if (a->state == AGENT_WAIT_JOB) {
            start(a, frame);
        } else if (a->state != AGENT_FAILED) {
            (void)err_guest(&err, "channel: a second job");
            agent_fail(a, "protocol", &err);
        }
        break;
    case FRAME_STDIN:
        if (is_live(a) && (input_receive(&a->io.in, frame->data, frame->len, &err) < 0 ||
                           input_write(&a->io.in, &a->ch, &err) < 0)) {
            agent_fail(a, "stdin", &err);
        }
        break;
    case FRAME_STDIN_EOF:
        input_receive_eof(&a->io.in);
        if (is_live(a) && input_write(&a->io.in, &a->ch, &err) < 0) {
            agent_fail(a, "stdin", &err);
        }
        break;
    case FRAME_STOP:
        a->stop = true;
        if (is_live(a) && cgroup_kill(&err) < 0) {
            agent_fail(a, "kill", &err);
        }
        break;
    case FRAME_READY:
    case FRAME_STARTED:
    case FRAME_STDOUT:
    case FRAME_STDERR:
    case FRAME_CREDIT:
    case FRAME_EXIT:
    case FRAME_OUTPUT:
    case FRAME_OUTPUT_END:
    case FRAME_FAILED:
        break; /* the decoder lets none of these through */
    }
}

/* False when the host is gone or talks nonsense: the machine has no further use. */
static bool read_channel(struct agent *a)
{
    struct frame frame = {0};
    struct err err = ERR_INIT;
    int r = 0;

    for (int i = 0; i < 64; i++) { /* then the others get their turn */
        r = channel_fill(&a->ch, &err);
        if (r == -EAGAIN) {
            return true;
        }
        while (r == 0 && (r = frame_decoder_next(&a->ch.in, &frame, &err)) == 1) {
            on_frame(a, &frame);
            r = 0;
        }
        if (r < 0) {
            boot_complain(err.msg);
            return false;
        }
    }
    return true;
}

/* No process can leave the job's cgroup but root's. */
static bool nothing_lives(const struct agent *a)
{
    struct err ignored = ERR_INIT;
    bool populated = true;

    return !a->job.root && cgroup_populated(&populated, &ignored) == 0 && !populated;
}

/* The main process ended: nothing of the job outlives it. */
static void begin_kill(struct agent *a)
{
    if (a->job.rehearsal) { /* it was a fork, and is reaped */
        a->state = AGENT_DRAINING;
        return;
    }
    input_close(&a->io.in);
    if (nothing_lives(a)) { /* as most end; the reaper, in nobody's way, goes with the machine */
        a->state = AGENT_DRAINING;
        return;
    }
    kill_all(a);
    a->kill_deadline_ns = clock_mono_ns() + KILL_TIMEOUT_NS;
    a->state = AGENT_KILLING;
}

/*
 * Most programs end as one process. Once that has begun nothing of it can change any more, and what
 * the kernel still does with its memory need not be waited for. Root may be outside of the cgroup.
 */
static void on_exits(struct agent *a)
{
    struct err err = ERR_INIT;
    uint64_t tasks = 0;

    if (!exits_began(&a->exits, a->main_pid, &a->main_status) || a->job.root || a->job.rehearsal ||
        a->state != AGENT_RUNNING) {
        return;
    }
    if (cgroup_tasks(&tasks, &err) < 0) {
        agent_fail(a, "kill", &err);
        return;
    }
    if (tasks != 1) {
        return; /* others live, or threads of its own: the reaper will tell */
    }
    a->main_ended = true;
    a->main_ending = true;
    input_close(&a->io.in);
    a->state = AGENT_DRAINING;
}

static void on_started(struct agent *a)
{
    struct err err = ERR_INIT;

    a->state = AGENT_RUNNING;
    if (channel_send(&a->ch, FRAME_STARTED, NULL, 0, &err) < 0 ||
        streams_start_input(&a->io, &a->ch, &err) < 0) {
        agent_fail(a, "start", &err);
    }
}

static void on_report(struct agent *a, const struct report *report)
{
    struct err err = ERR_INIT;

    switch (report->kind) {
    case REPORT_MAIN:
        a->main_pid = report->pid;
        if (exits_watch(&a->exits, a->main_pid, &err) < 0) {
            boot_complain(err.msg);
            exits_close(&a->exits);
        }
        if (a->stop && cgroup_kill(&err) < 0) {
            agent_fail(a, "kill", &err);
        }
        break;
    case REPORT_END:
        a->main_status = report->value;
        a->main_ended = true;
        break;
    case REPORT_FAILED:
        (void)err_set(&err, ERR_GUEST, report->value > 0 ? report->value : EIO, "%.*s",
                      (int)sizeof(report->text) - 1, report->text);
        agent_fail(a, report->phase, &err);
        break;
    }
}

static void read_reports(struct agent *a)
{
    struct report report = {0};
    struct err err = ERR_INIT;
    int r = 0;

    while ((r = child_report(&a->child, &report, &err)) == 1) {
        on_report(a, &report);
    }
    if (r < 0) {
        agent_fail(a, "reaper", &err);
    }
}

/* Reports come before the end of the exec pipe, and that before the end of the program. */
static void on_child(struct agent *a, bool exec_event)
{
    struct err err = ERR_INIT;
    int started = 0;

    read_reports(a);
    if (a->state == AGENT_STARTING && exec_event) {
        started = child_exec_event(&a->child, &err);
    }
    if (a->state == AGENT_RUNNING && exec_event && a->job.rehearsal) {
        started = child_rehearsed(&a->child, &err);
        a->main_ended = started == 0;
        a->main_status = 0;
    }
    if (started < 0) {
        agent_fail(a, "start", &err);
    } else if (started == 1) {
        on_started(a);
    }
    if (a->state == AGENT_RUNNING && a->main_ended) {
        begin_kill(a);
    }
}

static void on_reaper_end(struct agent *a)
{
    struct err err = ERR_INIT;

    read_reports(a);
    if (is_live(a)) {
        (void)err_set(&err, ERR_HOST, ESRCH, "the reaper ended before the program did");
        agent_fail(a, "reaper", &err);
    }
    child_reap(&a->child);
}

/* With root there is no pid namespace: its processes are gone when the agent has no child left. */
static bool all_reaped(const struct agent *a)
{
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
    return !a->job.root || errno == ECHILD;
}

/* KILLING: the reaper was reaped, so its pid namespace is empty; the cgroup must say so too. */
static void check_dead(struct agent *a)
{
    struct err err = ERR_INIT;
    bool populated = true;

    if (a->child.pidfd < 0 && cgroup_populated(&populated, &err) < 0) {
        agent_fail(a, "kill", &err);
    } else if (a->child.pidfd < 0 && !populated && all_reaped(a)) {
        a->state = AGENT_DRAINING;
    } else if (clock_mono_ns() > a->kill_deadline_ns) {
        (void)err_set(&err, ERR_HOST, ETIMEDOUT, "processes of the job survive their SIGKILL");
        agent_fail(a, "kill", &err);
    }
}

static int send_exit(struct agent *a, struct err *err)
{
    struct msg_exit m = {
        .signaled = WIFSIGNALED(a->main_status),
        .stdout_bytes = a->io.out.forwarded,
        .stderr_bytes = a->io.err.forwarded,
    };
    struct buf buf = BUF_INIT(1024);
    int r = cgroup_count(&m, err);

    if (r < 0) {
        return r;
    }
    m.cpu_usec -= m.cpu_usec < a->warm.cpu_usec ? m.cpu_usec : a->warm.cpu_usec;
    r = job_scratch_used(&m.scratch_bytes, err);
    if (r < 0) {
        return r;
    }
    m.code = (uint32_t)(m.signaled ? WTERMSIG(a->main_status) : WEXITSTATUS(a->main_status));
    m.oom_killed_main =
        m.signaled && m.code == SIGKILL && m.oom_kills > 0 && oom_log_took(&a->oom, a->main_pid);
    r = msg_exit_encode(&m, &buf);
    if (r < 0) {
        r = err_sys_num(err, -r, "encode the exit");
    } else {
        r = channel_send(&a->ch, FRAME_EXIT, buf.data, buf.len, err);
    }
    buf_fini(&buf);
    return r;
}

static int send_outputs(struct agent *a, struct err *err)
{
    const struct collect_caps caps = {
        .bytes = a->job.output_bytes,
        .files = a->job.output_files,
        .depth = a->job.output_depth,
    };
    auto_fd int out = -1;
    struct msg_output_end end = {0};
    struct buf buf = BUF_INIT(1024);
    int r = fd_open(AT_FDCWD, PATH_SCRATCH "/out", O_RDONLY | O_DIRECTORY, 0, &out, err);

    if (r < 0) {
        return r;
    }
    r = collect_send(out, &caps, &a->ch, &end, err);
    if (r < 0) {
        return r;
    }
    r = msg_output_end_encode(&end, &buf);
    if (r < 0) {
        r = err_sys_num(err, -r, "encode the end of the outputs");
    } else {
        r = channel_send(&a->ch, FRAME_OUTPUT_END, buf.data, buf.len, err);
    }
    buf_fini(&buf);
    return r;
}

/* As if there had been none: the next JOB is the first. */
static void end_rehearsal(struct agent *a)
{
    struct err err = ERR_INIT;

    if (job_undo(&a->boot, &a->job, &err) < 0 || cgroup_cpu_usec(&a->warm.cpu_usec, &err) < 0) {
        agent_fail(a, "rehearsal", &err);
        return;
    }
    msg_job_fini(&a->job);
    a->job = (struct msg_job){0};
    a->io.out.forwarded = 0;
    a->io.err.forwarded = 0;
    a->main_ended = false;
    a->state = AGENT_WAIT_JOB;
}

static void finish(struct agent *a)
{
    struct err err = ERR_INIT;

    if (send_exit(a, &err) < 0 || channel_drain_to(&a->ch, 0, &err) < 0) {
        agent_fail(a, "report", &err);
    } else if (send_outputs(a, &err) < 0) {
        agent_fail(a, "collect", &err);
    } else if (a->job.rehearsal) {
        end_rehearsal(a);
    } else {
        a->state = AGENT_DONE;
    }
}

static void forward(struct agent *a, struct stream *stream)
{
    struct err err = ERR_INIT;
    int r = stream_forward(stream, &a->ch, &err);

    if (r < 0 && r != -EAGAIN) {
        agent_fail(a, "stream", &err);
    }
}

/*
 * Pipes that somebody holds who writes no more, the interpreter that waits or the program that is
 * ending, have no end: what is there now is all.
 */
static void drain_now(struct agent *a)
{
    struct stream *const streams[] = {&a->io.out, &a->io.err};

    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        struct err err = ERR_INIT;
        int r = 0;

        while (r == 0 && streams[i]->fd >= 0) {
            r = channel_drain_to(&a->ch, 0, &err);
            r = r < 0 ? r : stream_forward(streams[i], &a->ch, &err);
        }
        if (streams[i]->fd >= 0 ? r != -EAGAIN : a->job.rehearsal) {
            agent_fail(a, "stream", &err);
            return;
        }
    }
    finish(a);
}

static void drain(struct agent *a)
{
    if (a->job.rehearsal || a->main_ending) {
        drain_now(a);
        return;
    }
    while (a->io.out.fd >= 0 && a->state == AGENT_DRAINING && channel_has_room(&a->ch)) {
        forward(a, &a->io.out);
    }
    while (a->io.err.fd >= 0 && a->state == AGENT_DRAINING && channel_has_room(&a->ch)) {
        forward(a, &a->io.err);
    }
    if (a->state == AGENT_DRAINING && a->io.out.fd < 0 && a->io.err.fd < 0) {
        finish(a);
    }
}

enum {
    P_CHANNEL,
    P_OUT,
    P_ERR,
    P_IN,
    P_REPORT,
    P_EXEC,
    P_REAPER,
    P_PRESSURE,
    P_EXITS,
    P_COUNT
};

static void fill_polls(const struct agent *a, struct pollfd p[P_COUNT])
{
    /* Not while it starts: what it writes at once must not be told before its start is. */
    bool runs = a->state == AGENT_RUNNING || a->state == AGENT_KILLING;
    bool room = runs && channel_has_room(&a->ch);

    p[P_CHANNEL] = (struct pollfd){.fd = a->ch.fd, .events = POLLIN};
    if (channel_queued(&a->ch) > 0) {
        p[P_CHANNEL].events |= POLLOUT;
    }
    p[P_OUT] = (struct pollfd){.fd = room ? a->io.out.fd : -1, .events = POLLIN};
    p[P_ERR] = (struct pollfd){.fd = room ? a->io.err.fd : -1, .events = POLLIN};
    p[P_IN] = (struct pollfd){.fd = a->io.in.fd, .events = a->io.in.buf.len > 0 ? POLLOUT : 0};
    p[P_REPORT] = (struct pollfd){.fd = is_live(a) ? a->child.report_fd : -1, .events = POLLIN};
    p[P_EXEC] = (struct pollfd){.fd = is_live(a) ? a->child.exec_fd : -1, .events = POLLIN};
    p[P_PRESSURE] = (struct pollfd){.fd = is_live(a) ? a->pressure.fd : -1, .events = POLLPRI};
    p[P_EXITS] =
        (struct pollfd){.fd = a->state == AGENT_RUNNING ? a->exits.fd : -1, .events = POLLIN};
    p[P_REAPER] = (struct pollfd){.fd = a->child.pidfd, .events = POLLIN};
}

static void on_pressure(struct agent *a)
{
    struct err err = ERR_INIT;

    if (pressure_event(&a->pressure, &err) < 0) {
        agent_fail(a, "memory", &err);
    }
}

static void on_polls(struct agent *a, const struct pollfd p[P_COUNT])
{
    struct err err = ERR_INIT;

    if ((p[P_IN].revents & POLLERR) != 0) {
        input_close(&a->io.in); /* the program closed its end */
    } else if (p[P_IN].revents != 0 && input_write(&a->io.in, &a->ch, &err) < 0) {
        agent_fail(a, "stdin", &err);
    }
    if ((p[P_PRESSURE].revents & POLLPRI) != 0) {
        on_pressure(a);
    }
    if (p[P_OUT].revents != 0 && a->io.out.fd >= 0) {
        forward(a, &a->io.out);
    }
    if (p[P_ERR].revents != 0 && a->io.err.fd >= 0 && channel_has_room(&a->ch)) {
        forward(a, &a->io.err);
    }
    if (p[P_REPORT].revents != 0 || p[P_EXEC].revents != 0) {
        on_child(a, p[P_EXEC].revents != 0);
    }
    if (p[P_EXITS].revents != 0) {
        on_exits(a);
    }
    if (p[P_REAPER].revents != 0) {
        on_reaper_end(a);
    }
    if (a->state == AGENT_KILLING) {
        check_dead(a);
    }
}

void agent_run(struct agent *a)
{
    for (;;) {
        struct pollfd p[P_COUNT];
        struct err err = ERR_INIT;
        int timeout_ms = a->state == AGENT_KILLING ? (a->child.pidfd < 0 ? 1 : 100) : -1;

        fill_polls(a, p);
        if (a->state == AGENT_DRAINING && channel_has_room(&a->ch)) {
            timeout_ms = 0;
        }
        if (poll(p, P_COUNT, timeout_ms) < 0) {
            if (errno != EINTR) {
                boot_complain("poll failed");
                return;
            }
            continue;
        }
        if ((p[P_CHANNEL].revents & POLLIN) != 0 && !read_channel(a)) {
            return;
        }
        if ((p[P_CHANNEL].revents & (POLLHUP | POLLERR)) != 0) {
            return;
        }
        on_polls(a, p);
        if (a->state == AGENT_DRAINING) {
            drain(a);
        }
        if (channel_flush(&a->ch, &err) < 0) {
            return;
        }
    }
}
