/*
 * How it works.  run_job() goes through the phases in order: admit, stage, boot, start, run,
 * collect, kill, inspect, export, prove the cleanup, answer.  Each phase either goes on or records
 * a deciding event; from then on the machine is only killed and the rest skipped.  One poll loop
 * serves the channel, the console, the monitor's pidfd and the caller; every wait ends at the
 * nearest deadline by CLOCK_MONOTONIC.  The verdict is computed once, at the end, from the events.
 */
#include "sup/run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/str.h"

#include "sup/monitor.h"
#include "sup/run-internal.h"
#include "sys/clock.h"
#include "sys/fd.h"

/* Beyond a deadline that is looked at, and for the helpers that staging and boot wait for. */
#define LAST_RESORT_NS  (120 * NS_PER_S)
#define DISK_FULL_BYTES (4 * MIB) /* less is left than the monitor writes at once */

uint64_t run_now(const struct run *run)
{
    uint64_t now = clock_mono_ns();

    return now > run->submitted_ns ? now - run->submitted_ns : 1;
}

void run_decide(struct run *run, enum event_kind kind, const char *reason, const char *detail)
{
    events_add(&run->events, kind, run_now(run), reason, detail);
    run->over = true;
}

/* What the host has too little of just now, for a reason; NULL if the errno says nothing of it. */
static const char *lacking(int errnum)
{
    switch (errnum) {
    case ENOSPC:
    case EDQUOT:
        return "disk";
    case ENOMEM:
        return "memory";
    case EAGAIN: /* fork, the ledger */
    case EMFILE:
    case ENFILE:
        return "machines";
    default:
        return NULL;
    }
}

/* A failure of staging or starting: what the caller can mend, what the host lacks, our fault. */
void run_decide_by_err(struct run *run, const struct err *err, const char *reason)
{
    auto_buf struct buf text = BUF_INIT(SHOWN_MAX);
    const char *short_of = lacking(err->errnum);

    (void)!str_escape(&text, err->msg, strlen(err->msg), false);
    if (err->class == ERR_USAGE || (err->class == ERR_LIMIT && short_of == NULL)) {
        run_decide(run, EVENT_REJECTED, reason, (const char *)text.data);
    } else if (short_of != NULL && !run->session_made) {
        run_decide(run, EVENT_CAPACITY, short_of, (const char *)text.data);
    } else {
        /* Lack of room once the machine has the job, too: "nothing started" is not true then. */
        run_decide(run, EVENT_HOST_FAULT, reason, (const char *)text.data);
    }
}

void run_phase(struct run *run, const char *name)
{
    (void)!client_put(run->client, SUP_PHASE, name, strlen(name));
    client_flush(run->client);
}

void run_tell_machine(struct run *run)
{
    const char *id = run->result.machine_id;

    (void)!client_put(run->client, SUP_MACHINE, id, strlen(id));
    client_flush(run->client);
}

void run_keep_console(struct run *run, const char *text, size_t len)
{
    size_t keep = 0;

    if (len > CONSOLE_KEEP) {
        text += len - CONSOLE_KEEP;
        len = CONSOLE_KEEP;
    }
    keep = CONSOLE_KEEP - len;
    if (run->console_len > keep) {
        memmove(run->console, run->console + (run->console_len - keep), keep);
        run->console_len = keep;
    }
    memcpy(run->console + run->console_len, text, len);
    run->console_len += len;
    run->console[run->console_len] = '\0';
}

void run_read_console(struct run *run)
{
    char chunk[2048];

    for (int turns = 0; turns < 16; turns++) {
        ssize_t n = read(run->machine.console_fd, chunk, sizeof(chunk));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n == 0) {
            fd_close_p(&run->machine.console_fd);
        }
        if (n <= 0) {
            return;
        }
        run_keep_console(run, chunk, (size_t)n);
    }
}

void run_console_hint(const struct run *run, const char *what, char *text, size_t size)
{
    char words[512];

    engine_last_words(run->console, run->console_len, words, sizeof(words));
    (void)snprintf(text, size, "%.250s%s%.200s", what,
                   words[0] != '\0' ? "; last words on its console: " : "", words);
}

static uint64_t deadline_of(enum session_state state)
{
    switch (state) {
    case SESSION_BOOT:
        return RUN_BOOT_DEADLINE_NS;
    case SESSION_START:
        return RUN_START_DEADLINE_NS;
    case SESSION_COLLECT:
        return RUN_COLLECT_DEADLINE_NS;
    case SESSION_RUN: /* bounded by the job's own limits */
    case SESSION_DONE:
        break;
    }
    return 0;
}

/* A phase began: its own deadline, and with the program's start the job's limits. */
static void note_phase_change(struct run *run, uint64_t now)
{
    struct session *s = &run->session;

    if (s->state == run->phase_of_deadline) {
        return;
    }
    run->phase_of_deadline = s->state;
    run->phase_deadline = deadline_of(s->state) != 0 ? now + deadline_of(s->state) : UINT64_MAX;
    if (s->state == SESSION_RUN) {
        run->wall_deadline = now + run->spec->limits.wall_ns;
        run->cpu_base_ns = host_process_cpu_ns(run->machine.proc.pid);
        run->cpu_next_check = now;
    }
    if (s->state != SESSION_DONE) {
        run_phase(run, session_phase(s->state));
    }
}

uint64_t run_cpu_used(const struct run *run, uint64_t cpu_ns)
{
    return cpu_ns > run->cpu_base_ns ? cpu_ns - run->cpu_base_ns : 0;
}

/* The monitor's CPU time cannot grow faster than this many threads can run. */
static uint64_t cpu_check_interval(const struct run *run, uint64_t left_ns)
{
    uint64_t interval = left_ns / (run->spec->limits.vcpus + 2);

    return interval < NS_PER_MS ? NS_PER_MS : interval;
}

/*
 * The monitor stops its machine when the host's disk is full, which from here looks like a program
 * that takes its time.
 */
static bool host_disk_is_full(const struct run *run)
{
    struct statvfs fs = {0};

    return fstatvfs(run->store->tmpfd, &fs) == 0 &&
           (uint64_t)fs.f_bavail < DISK_FULL_BYTES / (fs.f_frsize > 0 ? fs.f_frsize : 1);
}

/* What the guest made the machine take is the program's doing only once there was a program. */
static void decide_host_oom(struct run *run, const char *what)
{
    enum session_state state = run->session.state;
    bool ran = state != SESSION_BOOT && state != SESSION_START;

    run_decide(run, ran ? EVENT_HOST_OOM : EVENT_MONITOR_EXIT, session_phase(state), what);
}

/* In place of a memory control group, where the host has none for us. */
static void check_memory(struct run *run, uint64_t now)
{
    struct err err = ERR_INIT;
    bool over = false;

    if (now < run->memory_next_check) {
        return;
    }
    run->memory_next_check = now + RUN_MEMORY_CHECK_NS;
    if (hold_over_memory(run->hold, run->machine.proc.pid, &over, &err) == 0) {
        run->memory_unread = false;
        if (over) {
            decide_host_oom(run, "the machine took more memory than it may have");
        }
        return;
    }
    /* Once: it is ending, and the pidfd tells that. Twice: nothing would bound it. */
    if (run->memory_unread) {
        run_decide(run, EVENT_HOST_FAULT, session_phase(run->session.state), err.msg);
    }
    run->memory_unread = true;
}

static void check_deadlines(struct run *run, uint64_t now)
{
    struct session *s = &run->session;
    char text[96];

    if (now >= run->phase_deadline && s->closed) {
        run_decide(run, EVENT_MONITOR_EXIT, session_phase(s->state),
                   "the machine closed its channel and did not end");
        return;
    }
    if (now >= run->phase_deadline) {
        (void)snprintf(text, sizeof(text), "phase '%s' took longer than its %llu s",
                       session_phase(s->state),
                       (unsigned long long)(deadline_of(s->state) / NS_PER_S));
        run_decide(run, EVENT_DEADLINE, session_phase(s->state), text);
        return;
    }
    check_memory(run, now);
    if (run->over || s->state != SESSION_RUN) {
        return;
    }
    if (now >= run->wall_deadline && host_disk_is_full(run)) {
        run_decide(
            run, EVENT_HOST_FAULT, session_phase(s->state),
            "the disk of the state directory is full and stopped the machine; free some space "
            "or choose another place with --state");
        return;
    }
    if (now >= run->wall_deadline) {
        run_decide(run, EVENT_WALL_LIMIT, NULL, NULL);
        return;
    }
    if (now >= run->cpu_next_check) {
        uint64_t used = run_cpu_used(run, host_process_cpu_ns(run->machine.proc.pid));

        if (used >= run->spec->limits.cpu_ns) {
            run_decide(run, EVENT_CPU_LIMIT, NULL, NULL);
            return;
        }
        run->cpu_next_check = now + cpu_check_interval(run, run->spec->limits.cpu_ns - used);
    }
}

static uint64_t next_wake(const struct run *run)
{
    uint64_t at = run->phase_deadline;

    at = run->memory_next_check < at ? run->memory_next_check : at;
    if (run->session.state == SESSION_RUN) {
        at = run->wall_deadline < at ? run->wall_deadline : at;
        at = run->cpu_next_check < at ? run->cpu_next_check : at;
    }
    return at;
}

enum {
    POLL_CLIENT,
    POLL_CHANNEL,
    POLL_CONSOLE,
    POLL_CONTROL,
    POLL_MONITOR,
    POLL_N
};

static int wait_for_events(struct run *run, struct pollfd p[POLL_N])
{
    uint64_t now = clock_mono_ns();
    uint64_t at = next_wake(run);
    uint64_t left = at > now ? at - now : 0;
    struct timespec ts = {.tv_sec = (time_t)(left / NS_PER_S), .tv_nsec = (long)(left % NS_PER_S)};

    if (ts.tv_sec > 3600) {
        ts.tv_sec = 3600;
    }
    p[POLL_CLIENT] = (struct pollfd){
        .fd = run->client->fd,
        .events = (short)(POLLIN | (client_wants_write(run->client) ? POLLOUT : 0)),
    };
    p[POLL_CHANNEL] = (struct pollfd){
        /* Nothing is read before the machine runs: session_restored() comes first. */
        .fd = run->session.closed || !run->session_made || run->machine.control_fd >= 0
                  ? -1
                  : run->machine.channel_fd,
        .events = (short)(POLLIN | (session_wants_write(&run->session) ? POLLOUT : 0)),
    };
    p[POLL_CONSOLE] = (struct pollfd){.fd = run->machine.console_fd, .events = POLLIN};
    p[POLL_CONTROL] = (struct pollfd){.fd = run->machine.control_fd, .events = POLLIN};
    p[POLL_MONITOR] = (struct pollfd){.fd = run->machine.proc.pidfd, .events = POLLIN};
    if (ppoll(p, POLL_N, &ts, NULL) < 0 && errno != EINTR) {
        return -errno;
    }
    return 0;
}

static void serve_channel(struct run *run)
{
    struct err err = ERR_INIT;

    if (!run->session_made) {
        return;
    }
    if (session_read(&run->session, run_now(run), &err) < 0 ||
        session_write(&run->session, &err) < 0) {
        run_decide_by_err(run, &err, session_phase(run->session.state));
        return;
    }
    run->over = run->over || run->session.ended;
}

void run_send_job(struct run *run)
{
    struct err err = ERR_INIT;

    if (session_restored(&run->session, run_now(run), &err) < 0) {
        run_decide_by_err(run, &err, session_phase(run->session.state));
        return;
    }
    note_phase_change(run, clock_mono_ns());
}

/* The monitor says when its machine runs: only then a job may be sent. */
static void serve_control(struct run *run)
{
    struct err err = ERR_INIT;
    int r = run->engine->control(&run->machine, &err);

    if (r == 1) {
        run->restored = true;
        if (run->session_made) {
            run_send_job(run);
        }
    }
    if (r < 0) { /* the reason stands on its console, and is written there before this is said */
        char text[512];

        run_read_console(run);
        run_console_hint(run, err.msg, text, sizeof(text));
        run_decide(run, EVENT_MONITOR_EXIT, session_phase(run->session.state), text);
    }
}

static void monitor_ended(struct run *run)
{
    char text[EVENT_DETAIL_MAX];
    char how[EVENT_DETAIL_MAX];

    /* What it sent before its end still counts. */
    serve_channel(run);
    if (run->machine.console_fd >= 0) {
        run_read_console(run);
    }
    if (run->over || run->session.state == SESSION_DONE) {
        return;
    }
    if (hold_was_oom(run->hold)) {
        decide_host_oom(run, "the host's kernel killed the machine for memory");
        return;
    }
    monitor_how_it_ended(run->engine, &run->machine.proc, how, sizeof(how));
    run_console_hint(run, how, text, sizeof(text));
    run_decide(run, EVENT_MONITOR_EXIT, session_phase(run->session.state), text);
}

bool run_caller_left(struct run *run)
{
    client_listen(run->client);
    client_flush(run->client);
    return run->client->gone || run->client->canceled;
}

/* Everybody but the monitor's end, which is looked at last: what came before still counts. */
static void serve_ready(struct run *run, const struct pollfd p[POLL_N], uint64_t now)
{
    if (p[POLL_CLIENT].revents != 0 && run->goal == RUN_TO_JOB) {
        run->called = true;
        return;
    }
    if (p[POLL_CLIENT].revents != 0 && run_caller_left(run)) {
        run_decide(run, EVENT_CANCELED, NULL, NULL);
        return;
    }
    if (p[POLL_CONSOLE].revents != 0) {
        run_read_console(run);
    }
    if (p[POLL_CONTROL].revents != 0) {
        serve_control(run);
    }
    if (p[POLL_CHANNEL].revents != 0 && !run->over) {
        serve_channel(run);
        note_phase_change(run, now);
        client_flush(run->client);
    }
}

static bool is_reached(const struct run *run)
{
    switch (run->goal) {
    case RUN_TO_RESTORED:
        return run->restored;
    case RUN_TO_JOB:
        return run->called;
    case RUN_TO_REPORT:
        break;
    }
    return run->session.state == SESSION_DONE;
}

void run_serve(struct run *run, enum run_goal goal)
{
    run->goal = goal;
    while (!run->over && !is_reached(run)) {
        struct pollfd p[POLL_N];
        uint64_t now = 0;

        if (wait_for_events(run, p) < 0) {
            run_decide(run, EVENT_HOST_FAULT, session_phase(run->session.state), "poll failed");
            return;
        }
        now = clock_mono_ns();
        check_deadlines(run, now);
        if (run->over) {
            return;
        }
        serve_ready(run, p, now);
        if (p[POLL_MONITOR].revents != 0) {
            monitor_ended(run);
            return;
        }
        if (run->session.closed && !run->over && run->session.state != SESSION_DONE) {
            /* The agent's end is closed: the monitor is about to follow; wait for its last words. */
            run->phase_deadline =
                run->phase_deadline < now + NS_PER_S ? run->phase_deadline : now + NS_PER_S;
        }
    }
}

/*
 * The last resort against what no poll can end: a read or write that the kernel makes wait (a
 * network file system, a FUSE server).  SIGALRM kills this process even there; the machine dies
 * with it, the reaper removes what is left, and the caller is told that the supervisor died.
 * 0 takes it back.
 */
void run_last_resort(uint64_t ns)
{
    struct itimerval it = {.it_value = {.tv_sec = (time_t)(ns / NS_PER_S)}};

    (void)setitimer(ITIMER_REAL, &it, NULL);
}

static void run_fini(struct run *run)
{
    if (run->session_made) {
        session_fini(&run->session);
    }
    machine_fini(&run->machine);
    template_fini(&run->template);
    fd_close_p(&run->reaper.fd); /* not dismissed: it cleans up once more */
    fd_close_p(&run->reaper.proc.pidfd);
    fd_close_p(&run->former.fd);
    fd_close_p(&run->former.proc.pidfd);
    handover_fini(&run->handover);
    inspection_fini(&run->inspection);
    stage_fini(&run->stage);
    store_boot_fini(&run->boot);
    fd_close_p(&run->input.fd);
    fd_close_p(&run->output_fd);
    buf_fini(&run->captured[0]);
    buf_fini(&run->captured[1]);
}

void run_set_spec(struct run *run, const struct spec *spec)
{
    run->spec_copy = *spec;
    run->spec = &run->spec_copy;
    run->result.spec = run->spec;
    run->captured[0].max = spec->limits.stdout_bytes;
    run->captured[1].max = spec->limits.stderr_bytes;
}

struct run *run_new(const struct spec *spec, const struct store *store, struct hold *hold,
                    struct client *client, uint64_t submitted_ns)
{
    struct run *run = calloc(1, sizeof(*run));

    if (run == NULL) {
        return NULL;
    }
    run_set_spec(run, spec);
    run->store = store;
    run->hold = hold;
    run->client = client;
    run->submitted_ns = submitted_ns;
    run->output_fd = -1;
    run->boot = (struct store_boot)STORE_BOOT_INIT;
    run->stage = (struct stage)STAGE_INIT;
    run->input = (struct spool){.fd = -1};
    run->reaper = (struct reaper)REAPER_INIT;
    run->former = (struct reaper)REAPER_INIT;
    run->handover = (struct handover)HANDOVER_INIT;
    run->template = (struct template)TEMPLATE_INIT;
    run->machine = (struct machine)MACHINE_INIT;
    run->result.events = &run->events;
    run->result.machine_memory_bytes = engine_machine_bytes(spec->limits.memory_bytes);
    return run;
}

int run_finish(struct run *take_run)
{
    struct run *run = take_run;
    int r = 0;

    run_kill_machine(run);
    run_last_resort(RUN_END_DEADLINE_NS);
    run_inspect(run);
    run_export(run);
    run_prove_cleanup(run);
    r = run_answer(run);
    run_last_resort(0);
    run_fini(run);
    free(run);
    return r;
}

int run_job(const struct spec *spec, const struct store *store, struct hold *hold,
            struct client *client, uint64_t submitted_ns, bool streaming)
{
    /* stdin before the slot: a pipe that takes its time to end must not keep a place from others. */
    void (*const steps[])(struct run * run) = {run_admit, run_spool, run_take_slot, run_open_disks,
                                               run_stage};
    struct run *run = run_new(spec, store, hold, client, submitted_ns);
    struct host_tsc tsc = host_tsc_now();

    if (run == NULL) {
        return -ENOMEM;
    }
    run->has_job = true;
    run->streaming = streaming;
    run_last_resort(2 * RUN_STAGE_DEADLINE_NS + LAST_RESORT_NS); /* stdin, then inputs */
    run_phase(run, "stage");
    for (size_t i = 0; i < ARRAY_LEN(steps) && !run->over; i++) {
        steps[i](run);
    }
    if (!run->over) {
        run_start_machine(run, tsc);
    }
    if (!run->over) {
        run_bind_job(run);
    }
    if (!run->over) {
        run_last_resort(0); /* from here to the machine's end every wait is a poll */
        run_serve(run, RUN_TO_REPORT);
    }
    return run_finish(run);
}
