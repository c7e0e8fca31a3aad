/*
 * How it works.  run_job() goes through the phases in order: admit, stage, boot, start, run,
 * collect, kill, inspect, export, prove the cleanup, answer.  Each phase either goes on or records
 * a deciding event; from then on the machine is only killed and the rest skipped.  One poll loop
 * serves the channel, the console, the monitor's pidfd and the caller; every wait ends at the
 * nearest deadline by CLOCK_MONOTONIC.  The verdict is computed once, at the end, from the events.
 */
#include "sup/run.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"

#include "job/outputs.h"
#include "job/result.h"
#include "job/stage.h"
#include "sup/engine.h"
#include "sup/hold.h"
#include "sup/host.h"
#include "sup/reaper.h"
#include "sup/session.h"
#include "sup/spool.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define CONSOLE_KEEP    4096
#define DISK_FULL_BYTES (4 * MIB)                 /* less is left than the monitor writes at once */
#define SHOWN_MAX       ((size_t)4 * ERR_MSG_MAX) /* any of our texts, every byte escaped */

struct run {
    struct spec spec_copy;   /* shallow: the caller's, with the engine's own default for --cpu */
    const struct spec *spec; /* = &spec_copy */
    const struct store *store;
    struct client *client;
    struct hold *hold; /* slot and control groups */
    uint64_t submitted_ns;
    bool streaming;
    bool over; /* a deciding event other than the program's exit was recorded */
    struct events events;
    struct result result;
    const struct engine *engine;
    struct store_boot boot;
    struct stage stage;
    struct spool input; /* stdin */
    int output_fd;
    struct reaper reaper;
    struct machine machine;
    bool machine_made;
    struct session session;
    struct buf captured[2];
    struct outputs outputs;
    char console[CONSOLE_KEEP + 1]; /* last bytes of the guest's console and the monitor */
    size_t console_len;
    char monitor_version[128];
    uint64_t phase_deadline; /* absolute ns */
    enum session_state phase_of_deadline;
    uint64_t wall_deadline;  /* absolute, 0 before STARTED */
    uint64_t cpu_base_ns;    /* of the monitor at STARTED */
    uint64_t cpu_next_check; /* absolute */
};

static uint64_t since(const struct run *run, uint64_t now)
{
    return now > run->submitted_ns ? now - run->submitted_ns : 1;
}

static uint64_t now_since(const struct run *run)
{
    return since(run, clock_mono_ns());
}

static void decide(struct run *run, enum event_kind kind, const char *reason, const char *detail)
{
    events_add(&run->events, kind, now_since(run), reason, detail);
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
static void decide_by_err(struct run *run, const struct err *err, const char *reason)
{
    auto_buf struct buf text = BUF_INIT(SHOWN_MAX);
    const char *short_of = lacking(err->errnum);

    (void)!str_escape(&text, err->msg, strlen(err->msg), false);
    if (err->class == ERR_USAGE || (err->class == ERR_LIMIT && short_of == NULL)) {
        decide(run, EVENT_REJECTED, reason, (const char *)text.data);
    } else if (short_of != NULL && !run->machine_made) {
        decide(run, EVENT_CAPACITY, short_of, (const char *)text.data);
    } else {
        /* Lack of room while a machine runs, too: "nothing started, safe to retry" is not true. */
        decide(run, EVENT_HOST_FAULT, reason, (const char *)text.data);
    }
}

static void phase(struct run *run, const char *name)
{
    (void)!client_put(run->client, SUP_PHASE, name, strlen(name));
    client_flush(run->client);
}

static int sink(void *ctx, bool is_stderr, const uint8_t *data, size_t len)
{
    struct run *run = ctx;

    if (!run->streaming) {
        return buf_put(&run->captured[is_stderr], data, len);
    }
    return client_put(run->client, is_stderr ? SUP_STDERR : SUP_STDOUT, data, len);
}

/* --- before the machine --- */

static void make_machine_id(struct run *run)
{
    uint8_t id[16];
    struct err err = ERR_INIT;
    auto_fd int fd = -1;
    size_t got = 0;

    if (fd_open(AT_FDCWD, "/dev/urandom", O_RDONLY, 0, &fd, &err) < 0 ||
        fd_read_full(fd, id, sizeof(id), &got, &err) < 0 || got != sizeof(id)) {
        decide(run, EVENT_HOST_FAULT, "admit", "no random bytes from /dev/urandom");
        return;
    }
    for (size_t i = 0; i < sizeof(id); i++) {
        (void)snprintf(run->result.machine_id + 2 * i, 3, "%02x", id[i]);
    }
}

/* A place among the host's machines, or capacity_rejected. */
static void take_slot(struct run *run)
{
    const struct spec_limits *l = &run->spec->limits;
    struct err err = ERR_INIT;
    struct ledger_need need = {
        .machine_id = run->result.machine_id,
        .memory_bytes = run->result.machine_memory_bytes + ENGINE_OVERHEAD_BYTES,
        .vcpus = l->vcpus,
    };

    make_machine_id(run);
    if (run->over) {
        return;
    }
    /* Scratch, inputs, stdin and the output stream are all files below the state directory. */
    need.disk_bytes = l->disk_bytes + l->output_bytes + l->input_bytes +
                      (spool_needed(run->spec) ? l->stdin_bytes : 0);
    if (hold_take(run->hold, run->store, &need, &err) < 0 ||
        reaper_start(run->hold, run->spec->out_dir, run->result.machine_id, &run->reaper, &err) <
            0) {
        decide_by_err(run, &err, "admit");
    }
}

static void admit(struct run *run)
{
    static const char *const own_image[] = {
        [SPEC_COMMAND] = NULL,
        [SPEC_PYTHON] = "python",
        [SPEC_JAVASCRIPT] = "javascript",
    };
    const char *image =
        run->spec->image != NULL ? run->spec->image : own_image[run->spec->language];
    struct err err = ERR_INIT;

    assert(image != NULL); /* spec_check() refuses a command without an image */
    if (engine_select(run->spec->engine, run->spec->isolation, &run->engine, &err) < 0) {
        decide_by_err(run, &err, "engine_unavailable");
        return;
    }
    run->result.engine = run->engine->name;
    run->result.isolation = run->engine->isolation;
    if (!run->spec->cpu_given && strcmp(run->engine->isolation, "emulated") == 0) {
        run->spec_copy.limits.cpu_ns = SPEC_CPU_EMULATED_NS;
    }
    if (run->engine->version(run->monitor_version, sizeof(run->monitor_version), &err) < 0) {
        decide_by_err(run, &err, "engine_unavailable");
        return;
    }
    run->result.monitor = run->monitor_version;
    if (store_open_boot(run->store, image, &run->boot, &err) < 0) {
        decide_by_err(run, &err, "image");
        return;
    }
    run->result.image = run->boot.image;
    run->result.kernel_version = run->boot.kernel_version;
    run->result.kernel = run->boot.kernel;
    run->result.initramfs = run->boot.initramfs;
    run->result.root = run->boot.root;
}

static void stage(struct run *run)
{
    struct err err = ERR_INIT;

    if (spool_stdin(run->spec, run->store->tmpfd, run->client, &run->input, &err) < 0) {
        if (run->client->canceled || run->client->gone) {
            decide(run, EVENT_CANCELED, NULL, NULL);
        } else {
            decide_by_err(run, &err, "stdin");
        }
        return;
    }
    /* Only now: a pipe that takes its time to end must not keep a place from others. */
    take_slot(run);
    if (run->over) {
        return;
    }
    if (stage_build(run->spec, run->store->tmpfd, &run->stage, &err) < 0) {
        decide_by_err(run, &err, "inputs");
        return;
    }
    run->result.stage = &run->stage;
    if (fd_open_tmp(run->store->tmpfd, &run->output_fd, &err) < 0) {
        decide_by_err(run, &err, "stage");
        return;
    }
    run->result.phases.staged = now_since(run);
}

static void start_machine(struct run *run, struct host_tsc tsc)
{
    struct err err = ERR_INIT;
    struct machine_config config = {
        .vcpus = run->spec->limits.vcpus,
        .memory_bytes = run->result.machine_memory_bytes,
        .tsc_khz = host_tsc_khz(tsc),
        .scratch_bytes = run->spec->limits.disk_bytes,
        .kernel_fd = run->boot.kernel_fd,
        .initramfs_fd = run->boot.initramfs_fd,
        .root_fd = run->boot.root_fd,
        .input_fd = run->stage.input_fd,
        .scratch_fd = run->stage.scratch_fd,
        .group = &run->hold->group,
        .uid = run->hold->slot.uid,
    };

    phase(run, "boot");
    if (hold_group(run->hold, run->result.machine_memory_bytes, run->spec->limits.vcpus, &err) <
        0) {
        decide_by_err(run, &err, "boot");
        return;
    }
    run->result.cgroup = &run->hold->report;
    if (run->engine->start(&config, &run->machine, &err) < 0) {
        decide_by_err(run, &err, err.class == ERR_USAGE ? "engine_unavailable" : "boot");
        return;
    }
    run->machine_made = true;
    run->result.phases.spawned = now_since(run);
    if (ledger_note_monitor(&run->hold->slot, run->machine.proc.pid, &err) < 0) {
        err = (struct err)ERR_INIT; /* the slot then counts in full: only less fits */
    }
    if (fd_set_nonblock(run->machine.console_fd, &err) < 0 ||
        session_init(&run->session, run->machine.channel_fd, run->spec, &run->events, &err) < 0) {
        decide_by_err(run, &err, "boot");
        return;
    }
    run->session.sink = (struct session_sink){.write = sink, .ctx = run};
    run->session.output_fd = run->output_fd;
    run->session.stdin_fd = run->input.fd;
    run->session.stdin_size = run->input.bytes;
    run->phase_deadline = clock_mono_ns() + RUN_BOOT_DEADLINE_NS;
    run->phase_of_deadline = SESSION_BOOT;
}

/* --- the loop --- */

/* Keeps the end of what the console says; more is dropped. */
static void read_console(struct run *run)
{
    char chunk[2048];

    for (int turns = 0; turns < 16; turns++) {
        ssize_t n = read(run->machine.console_fd, chunk, sizeof(chunk));
        size_t keep = 0;

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n == 0) {
            fd_close_p(&run->machine.console_fd);
        }
        if (n <= 0) {
            return;
        }
        keep = CONSOLE_KEEP - (size_t)n;
        if (run->console_len > keep) {
            memmove(run->console, run->console + (run->console_len - keep), keep);
            run->console_len = keep;
        }
        memcpy(run->console + run->console_len, chunk, (size_t)n);
        run->console_len += (size_t)n;
        run->console[run->console_len] = '\0';
    }
}

/* The last line on the console, made harmless: the best hint at why a monitor or kernel died. */
static void console_hint(struct run *run, const char *what, char *text, size_t size)
{
    auto_buf struct buf shown = BUF_INIT(SHOWN_MAX);
    size_t end = run->console_len;
    size_t start = 0;

    while (end > 0 && (run->console[end - 1] == '\n' || run->console[end - 1] == '\r')) {
        end--;
    }
    start = end;
    while (start > 0 && run->console[start - 1] != '\n' && end - start < 200) {
        start--;
    }
    if (end == start || str_escape(&shown, run->console + start, end - start, false) < 0) {
        (void)snprintf(text, size, "%s", what);
        return;
    }
    (void)snprintf(text, size, "%s; last words on its console: %s", what, (const char *)shown.data);
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
        phase(run, session_phase(s->state));
    }
}

/* Since the program's start. A clock that cannot be read any more says 0, not a wrap to 2^64. */
static uint64_t cpu_used(const struct run *run, uint64_t cpu_ns)
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

static void check_deadlines(struct run *run, uint64_t now)
{
    struct session *s = &run->session;
    char text[96];

    if (now >= run->phase_deadline && s->closed) {
        decide(run, EVENT_MONITOR_EXIT, session_phase(s->state),
               "the machine closed its channel and did not end");
        return;
    }
    if (now >= run->phase_deadline) {
        (void)snprintf(text, sizeof(text), "phase '%s' took longer than its %llu s",
                       session_phase(s->state),
                       (unsigned long long)(deadline_of(s->state) / NS_PER_S));
        decide(run, EVENT_DEADLINE, session_phase(s->state), text);
        return;
    }
    if (s->state != SESSION_RUN) {
        return;
    }
    if (now >= run->wall_deadline && host_disk_is_full(run)) {
        decide(run, EVENT_HOST_FAULT, session_phase(s->state),
               "the disk of the state directory is full and stopped the machine; free some space "
               "or choose another place with --state");
        return;
    }
    if (now >= run->wall_deadline) {
        decide(run, EVENT_WALL_LIMIT, NULL, NULL);
        return;
    }
    if (now >= run->cpu_next_check) {
        uint64_t used = cpu_used(run, host_process_cpu_ns(run->machine.proc.pid));

        if (used >= run->spec->limits.cpu_ns) {
            decide(run, EVENT_CPU_LIMIT, NULL, NULL);
            return;
        }
        run->cpu_next_check = now + cpu_check_interval(run, run->spec->limits.cpu_ns - used);
    }
}

static uint64_t next_wake(const struct run *run)
{
    uint64_t at = run->phase_deadline;

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
        .fd = run->session.closed ? -1 : run->machine.channel_fd,
        .events = (short)(POLLIN | (session_wants_write(&run->session) ? POLLOUT : 0)),
    };
    p[POLL_CONSOLE] = (struct pollfd){.fd = run->machine.console_fd, .events = POLLIN};
    p[POLL_MONITOR] = (struct pollfd){.fd = run->machine.proc.pidfd, .events = POLLIN};
    if (ppoll(p, POLL_N, &ts, NULL) < 0 && errno != EINTR) {
        return -errno;
    }
    return 0;
}

static void serve_channel(struct run *run)
{
    struct err err = ERR_INIT;

    if (session_read(&run->session, now_since(run), &err) < 0 ||
        session_write(&run->session, &err) < 0) {
        decide_by_err(run, &err, session_phase(run->session.state));
        return;
    }
    run->over = run->over || run->session.ended;
}

static void monitor_ended(struct run *run)
{
    char text[EVENT_DETAIL_MAX];

    /* What it sent before its end still counts. */
    serve_channel(run);
    if (run->machine.console_fd >= 0) {
        read_console(run);
    }
    if (run->over || run->session.state == SESSION_DONE) {
        return;
    }
    if (hold_was_oom(run->hold)) {
        const char *what = "the host's kernel killed the machine for memory";
        bool ran = run->session.state != SESSION_BOOT && run->session.state != SESSION_START;

        decide(run, ran ? EVENT_HOST_OOM : EVENT_MONITOR_EXIT, session_phase(run->session.state),
               what);
        return;
    }
    console_hint(run, "the machine ended by itself", text, sizeof(text));
    decide(run, EVENT_MONITOR_EXIT, session_phase(run->session.state), text);
}

/* From the monitor's start to a complete report, or to the first deciding event. */
static void serve(struct run *run)
{
    while (!run->over && run->session.state != SESSION_DONE) {
        struct pollfd p[POLL_N];
        uint64_t now = 0;

        if (wait_for_events(run, p) < 0) {
            decide(run, EVENT_HOST_FAULT, session_phase(run->session.state), "poll failed");
            return;
        }
        now = clock_mono_ns();
        check_deadlines(run, now);
        if (run->over) {
            return;
        }
        if (p[POLL_CLIENT].revents != 0) {
            client_listen(run->client);
            client_flush(run->client);
            if (run->client->gone || run->client->canceled) {
                decide(run, EVENT_CANCELED, NULL, NULL);
                return;
            }
        }
        if (p[POLL_CONSOLE].revents != 0) {
            read_console(run);
        }
        if (p[POLL_CHANNEL].revents != 0) {
            serve_channel(run);
            note_phase_change(run, now);
            client_flush(run->client);
        }
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

/* --- the end --- */

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
        events_add(&run->events, EVENT_KERNEL_PANIC, now_since(run), NULL,
                   (const char *)shown.data);
    }
}

static void kill_machine(struct run *run)
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
    run->result.cpu_ns = run->wall_deadline != 0 ? cpu_used(run, cpu) : 0;
    run->result.machine_rss_bytes = host_process_peak_rss(pid);
    proc_kill(&run->machine.proc);
    reaped = proc_wait(&run->machine.proc, RUN_KILL_DEADLINE_NS, &end, &err) == 0;
    run->result.phases.killed = now_since(run);
    /* The program's last words that were on their way when the limit struck; the end of file comes
     * with the monitor's end, and is waited for no longer than that end was. */
    while (reaped && !run->session.closed &&
           since(run, clock_mono_ns()) < run->result.phases.killed + RUN_KILL_DEADLINE_NS) {
        struct err bad = ERR_INIT;

        if (session_read(&run->session, now_since(run), &bad) < 0) {
            break;
        }
    }
    if (run->machine.console_fd >= 0) {
        read_console(run);
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

static void inspect(struct run *run)
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
        decide(run, inspect_event(&err), "inspect", (const char *)text.data);
        return;
    }
    run->result.outputs = &run->outputs;
    run->result.phases.inspected = now_since(run);
    if (run->outputs.n_dropped > 0) {
        char note[96];

        (void)snprintf(note, sizeof(note), "%llu entries were refused, see 'dropped'",
                       (unsigned long long)(run->outputs.n_dropped + run->outputs.n_dropped_more));
        events_add(&run->events, EVENT_OUTPUT_DROPPED, now_since(run), NULL, note);
    }
}

static void export_outputs(struct run *run)
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
            decide(run, EVENT_HOST_FAULT, "export", err.msg);
            return;
        }
        run->result.outputs_exported = true;
        run->result.phases.exported = now_since(run);
    }
    events_add(&run->events, EVENT_ACCEPTED, now_since(run), NULL, NULL);
}

static bool is_unnamed(int fd)
{
    struct stat st;

    return fd < 0 || (fstat(fd, &st) == 0 && st.st_nlink == 0);
}

/* Each check is made, not assumed: the answer carries what was found. */
static void prove_cleanup(struct run *run)
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
        events_add(&run->events, EVENT_HOST_FAULT, now_since(run), "cleanup", err.msg);
    }
    /* We are a subreaper: whatever any helper left behind would be our child by now. */
    no_children = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
    r->checks[r->n_checks++] = (struct result_check){"no_processes_left", no_children};
    r->checks[r->n_checks++] = (struct result_check){"files_unnamed", unnamed};
    r->checks[r->n_checks++] = (struct result_check){"cgroup_and_slot_released", released};
    r->phases.cleaned = now_since(run);
}

static int answer(struct run *run)
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

static void run_fini(struct run *run)
{
    if (run->machine_made) {
        session_fini(&run->session);
    }
    machine_fini(&run->machine);
    fd_close_p(&run->reaper.fd); /* not dismissed: it cleans up once more */
    fd_close_p(&run->reaper.proc.pidfd);
    outputs_fini(&run->outputs);
    stage_fini(&run->stage);
    store_boot_fini(&run->boot);
    fd_close_p(&run->input.fd);
    fd_close_p(&run->output_fd);
    buf_fini(&run->captured[0]);
    buf_fini(&run->captured[1]);
}

int run_job(const struct spec *spec, const struct store *store, struct hold *hold,
            struct client *client, uint64_t submitted_ns, bool streaming)
{
    auto_free struct run *run = calloc(1, sizeof(*run));
    struct host_tsc tsc = host_tsc_now();
    int r = 0;

    if (run == NULL) {
        return -ENOMEM;
    }
    run->spec_copy = *spec;
    run->spec = &run->spec_copy;
    run->store = store;
    run->hold = hold;
    run->client = client;
    run->submitted_ns = submitted_ns;
    run->streaming = streaming;
    run->output_fd = -1;
    run->boot = (struct store_boot)STORE_BOOT_INIT;
    run->stage = (struct stage)STAGE_INIT;
    run->input = (struct spool){.fd = -1};
    run->reaper = (struct reaper)REAPER_INIT;
    run->machine = (struct machine)MACHINE_INIT;
    run->captured[0] = (struct buf)BUF_INIT(spec->limits.stdout_bytes);
    run->captured[1] = (struct buf)BUF_INIT(spec->limits.stderr_bytes);
    run->result.spec = run->spec;
    run->result.events = &run->events;
    run->result.machine_memory_bytes = engine_machine_bytes(spec->limits.memory_bytes);

    phase(run, "stage");
    admit(run);
    if (!run->over) {
        stage(run);
    }
    if (!run->over) {
        start_machine(run, tsc);
    }
    if (!run->over) {
        serve(run);
    }
    kill_machine(run);
    inspect(run);
    export_outputs(run);
    prove_cleanup(run);
    r = answer(run);
    run_fini(run);
    return r;
}
