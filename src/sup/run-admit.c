#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sup/need.h"
#include "sup/run-internal.h"
#include "sup/run.h"
#include "sup/template-scratch.h"
#include "sup/warm.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/unique.h"

/* A place among the host's machines, or capacity_rejected. */
void run_take_slot(struct run *run)
{
    struct err err = ERR_INIT;
    struct ledger_need need = need_of_spec(run->spec, run->engine, run->has_job);

    need.machine_id = run->result.machine_id;
    if (hold_take(run->hold, run->store, &need, &err) < 0 ||
        reaper_start(run->hold, &run->reaper_work, &run->reaper, &err) < 0) {
        run_decide_by_err(run, &err, "admit");
        return;
    }
    run->result.left_over = run->hold->n_left_over > 0 ? run->hold->left_over : NULL;
    run->result.phases.admitted = run_now(run);
}

static bool caller_left(void *ctx)
{
    return run_caller_left(ctx);
}

static void tell_probe(void *ctx)
{
    run_phase(ctx, SUP_PHASE_PROBE);
}

static bool choose_engine(struct run *run)
{
    const struct engine_wish wish = {
        .store = run->store,
        .wanted = run->spec->engine,
        .weakest = run->spec->isolation,
        .stop = caller_left,
        .probing = tell_probe,
        .ctx = run,
        .again = true,
    };
    struct err err = ERR_INIT;

    if (engine_select(&wish, &run->engine, &err) == 0) {
        return true;
    }
    if (err.errnum == ECANCELED) {
        run_decide(run, EVENT_CANCELED, NULL, NULL);
    } else {
        run_decide_by_err(run, &err, "engine_unavailable");
    }
    return false;
}

void run_engine_defaults(struct run *run)
{
    if (!run->spec->cpu_given && strcmp(run->engine->isolation, "emulated") == 0) {
        run->spec_copy.limits.cpu_ns = SPEC_CPU_EMULATED_NS;
    }
}

void run_admit(struct run *run)
{
    static const char *const own_image[] = {
        [SPEC_COMMAND] = NULL,
        [SPEC_PYTHON] = "python",
        [SPEC_JAVASCRIPT] = "javascript",
    };
    const char *image =
        run->spec->image != NULL ? run->spec->image : own_image[run->spec->language];
    struct err err = ERR_INIT;

    if (unique_id(run->result.machine_id, &err) < 0) {
        run_decide_by_err(run, &err, "admit");
    } else if (run->has_job) {
        run_tell_machine(run);
    }
    run_prepare_proof(run);
    if (run->over) {
        return;
    }
    assert(image != NULL); /* spec_check() refuses a command without an image */
    if (!choose_engine(run)) {
        return;
    }
    run->result.engine = run->engine->name;
    run->result.isolation = run->engine->isolation;
    run_engine_defaults(run);
    if (run->engine->version(run->store->dirfd, run->monitor_version, sizeof(run->monitor_version),
                             &err) < 0) {
        run_decide_by_err(run, &err, "engine_unavailable");
        return;
    }
    run->result.monitor = run->monitor_version;
    if (store_open_boot(run->store, image, &run->boot, &err) < 0) {
        run_decide_by_err(run, &err, "image");
        return;
    }
    run->result.image = run->boot.image;
    run->result.kernel_version = run->boot.kernel_version;
    run->result.kernel = run->boot.kernel;
    run->result.initramfs = run->boot.initramfs;
    run->result.root = run->boot.root;
}

/* Between two pieces of an input: does the caller still want it, and in time? */
static int keep_staging(void *ctx, struct err *err)
{
    struct run *run = ctx;

    if (run_caller_left(run)) {
        return err_set(err, ERR_HOST, ECANCELED, "canceled");
    }
    if (clock_mono_ns() > run->phase_deadline) {
        return err_set(
            err, ERR_USAGE, ETIMEDOUT,
            "the inputs could not be read within %llu s; copy them to a local disk first",
            (unsigned long long)(RUN_STAGE_DEADLINE_NS / NS_PER_S));
    }
    return 0;
}

static void staging_failed(struct run *run, const struct err *err, const char *reason)
{
    if (run->client->canceled || run->client->gone) {
        run_decide(run, EVENT_CANCELED, NULL, NULL);
    } else {
        run_decide_by_err(run, err, reason);
    }
}

/* The archive into entries and a file of their data (owned); then all inputs into the image. */
static int stage_inputs(struct run *run, const struct stage_watch *watch, struct err *err)
{
    const struct unpack_budget budget = stage_archive_budget(run->spec);
    auto_unpacked struct unpacked entries = {0};
    auto_fd int archive = -1;
    auto_fd int data = -1;
    struct stat st = {0};
    int r = 0;

    if (!need_archive(run->spec)) {
        return stage_fill(run->spec, NULL, run->store->tmpfd, watch, &run->stage, err);
    }
    r = stage_open_archive(run->spec, run->store->tmpfd, &archive, &st, err);
    if (r < 0) {
        return r;
    }
    r = inspect_unpack(&(struct unpack_job){.archive_fd = archive,
                                            .archive_bytes = (uint64_t)st.st_size,
                                            .budget = &budget,
                                            .tmp_dirfd = run->store->tmpfd,
                                            .uid = run->hold->slot.uid},
                       &entries, &data, err);
    if (r == 0) {
        r = stage_archive_unchanged(run->spec, archive, &st, err);
    }
    if (r < 0) {
        return err_wrap(err, "archive '%s'", stage_archive_text(run->spec).s);
    }
    return stage_fill(run->spec, &(struct stage_archive){.entries = &entries, .data_fd = data},
                      run->store->tmpfd, watch, &run->stage, err);
}

void run_spool(struct run *run)
{
    struct err err = ERR_INIT;

    if (spool_stdin(run->spec, run->store->tmpfd, run->client,
                    clock_mono_ns() + RUN_STAGE_DEADLINE_NS, &run->input, &err) < 0) {
        staging_failed(run, &err, "stdin");
    }
}

void run_open_disks(struct run *run)
{
    struct err err = ERR_INIT;

    if (stage_open(run->store->tmpfd, &run->stage, &err) < 0) {
        run_decide_by_err(run, &err, "stage");
    } else if (template_mounts(run->spec)) {
        stage_expect_scratch(&run->spec->limits, &run->stage);
    }
}

void run_stage(struct run *run)
{
    const struct stage_watch watch = {.check = keep_staging, .ctx = run};
    struct err err = ERR_INIT;

    run->phase_deadline = clock_mono_ns() + RUN_STAGE_DEADLINE_NS;
    if (stage_inputs(run, &watch, &err) < 0) {
        staging_failed(run, &err, "inputs");
        return;
    }
    run->result.stage = &run->stage;
    if (fd_open_tmp(run->store->tmpfd, &run->output_fd, &err) < 0) {
        run_decide_by_err(run, &err, "stage");
        return;
    }
    run->result.phases.staged = run_now(run);
}

static int sink(void *ctx, bool is_stderr, const uint8_t *data, size_t len)
{
    struct run *run = ctx;

    if (!run->streaming) {
        return buf_put(&run->captured[is_stderr], data, len);
    }
    return client_put(run->client, is_stderr ? SUP_STDERR : SUP_STDOUT, data, len);
}

static void keep_console(void *ctx, const char *text, size_t len)
{
    run_keep_console(ctx, text, len);
}

static void tell_build(void *ctx, enum template_step step)
{
    if (step == TEMPLATE_STEP_BOOT) { /* the longest by far; the others need no word */
        run_phase(ctx, SUP_PHASE_BUILD);
    }
}

/* What went wrong with the boot that is to be saved: the same kinds as of a machine that runs. */
static enum event_kind boot_event(const struct err *err)
{
    if (err->class == ERR_GUEST) {
        return EVENT_PROTOCOL;
    }
    return err->errnum == ETIMEDOUT ? EVENT_DEADLINE
           : err->errnum == EPIPE   ? EVENT_MONITOR_EXIT
                                    : EVENT_HOST_FAULT;
}

/* Which interpreter the job gets of the machine that it has, and if not the waiting one why. */
static void note_interpreter(struct run *run)
{
    struct result *res = &run->result;
    bool may_wait = warm_for(run->spec, &res->interpreter_why) != NULL;

    if (run->spec->language == SPEC_COMMAND) {
        return;
    }
    res->interpreter = run->template.interpreter.waits ? "warm" : "fresh";
    if (run->template.interpreter.waits || !may_wait) {
        return;
    }
    (void)snprintf(run->cold_why, sizeof(run->cold_why), "none could be started: %.200s",
                   run->template.interpreter.why_not);
    res->interpreter_why = run->template.interpreter.why_not[0] != '\0'
                               ? run->cold_why
                               : "the memory limit leaves no room beside the one that waits";
}

/* The saved state to start from; the first job of its kind builds it. */
static void take_template(struct run *run, struct machine_config *config)
{
    struct err err = ERR_INIT;
    struct template_request request = {
        .store = run->store,
        .engine = run->engine,
        .monitor = run->monitor_version,
        .boot = &run->boot,
        .config = *config,
        .stop = caller_left,
        .progress = tell_build,
        .console = keep_console,
        .ctx = run,
    };

    run_phase(run, "template");
    if (template_take_for(run->spec, &request, &run->template, &err) == 0) {
        config->warm = request.config.warm; /* the same machine, to its arguments */
        run->result.template = run->template.key;
        run->result.template_built = run->template.built;
        run->result.phases.templated = run_now(run);
    } else if (err.errnum == ECANCELED) {
        run_decide(run, EVENT_CANCELED, NULL, NULL);
    } else if (boot_event(&err) != EVENT_HOST_FAULT) {
        char text[EVENT_DETAIL_MAX];

        run_console_hint(run, err.msg, text, sizeof(text));
        run_decide(run, boot_event(&err), "boot", text);
    } else {
        run_decide_by_err(run, &err, err.class == ERR_USAGE ? "engine_unavailable" : "boot");
    }
}

/* What the running machine may still take of the disk: the output stream, and scratch blocks that
 * the file system did not give before (holes, where it has no fallocate). */
static uint64_t disk_left(const struct run *run)
{
    struct stat st = {0};
    uint64_t scratch = run->spec->limits.disk_bytes;
    uint64_t has = fstat(run->stage.scratch_fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;

    return run->spec->limits.output_bytes + (has < scratch ? scratch - has : 0);
}

void run_note_monitor(struct run *run)
{
    struct err ignored = ERR_INIT; /* the slot then counts in full: only less fits */

    (void)!ledger_note_monitor(&run->hold->slot, run->machine.proc.pid,
                               run->has_job ? disk_left(run) : UINT64_MAX, &ignored);
}

void run_start_machine(struct run *run, struct host_tsc tsc)
{
    struct err err = ERR_INIT;
    struct machine_config config =
        template_machine(run->spec, run->store, &run->boot, host_tsc_khz(run->store->dirfd, tsc),
                         run->hold->slot.uid);

    /* Not known before there is a job; then it is lowered. */
    run->file_bound = run->has_job ? run->spec->limits.disk_bytes : STAGE_SCRATCH_DEVICE_BYTES;
    take_template(run, &config);
    if (run->over) {
        return;
    }
    config.scratch_bytes = run->file_bound;
    config.input_fd = run->stage.input_fd;
    config.scratch_fd = run->stage.scratch_fd;
    config.memory_fd = run->template.memory_fd;
    config.state_fd = run->template.state_fd;
    config.writes_fd = run->template.writes_fd;
    config.group = &run->hold->group;
    if (template_scratch_fill(&run->template, run->spec->limits.disk_bytes, run->stage.scratch_fd,
                              &err) < 0) {
        run_decide_by_err(run, &err, "stage");
        return;
    }
    run_phase(run, "boot");
    if (hold_group(run->hold, engine_group_bytes(run->engine, config.memory_bytes), config.vcpus,
                   run->store->dirfd, &err) < 0) {
        run_decide_by_err(run, &err, "boot");
        return;
    }
    run->result.cgroup = &run->hold->report;
    run->result.instead = hold_instead;
    if (run->engine->start(&config, &run->machine, &err) < 0) {
        run_decide_by_err(run, &err, err.class == ERR_USAGE ? "engine_unavailable" : "boot");
        return;
    }
    run->machine_made = true;
    if (run->machine.exec_ns > run->submitted_ns) {
        run->result.phases.executed = run->machine.exec_ns - run->submitted_ns;
    }
    run->result.phases.spawned = run_now(run);
    run_note_monitor(run);
    if (fd_set_nonblock(run->machine.console_fd, &err) < 0) {
        run_decide_by_err(run, &err, "boot");
        return;
    }
    run->phase_deadline = clock_mono_ns() + RUN_BOOT_DEADLINE_NS;
    run->phase_of_deadline = SESSION_BOOT;
    run->memory_next_check = hold_must_watch(run->hold) ? clock_mono_ns() : UINT64_MAX;
}

/* In a child: as the monitor's own user, who may lower its limits. Returns an errno. */
static int bound_as(uid_t uid, pid_t pid, const struct rlimit *limit)
{
    bool ok = setgroups(0, NULL) == 0 && setresgid(uid, uid, uid) == 0 &&
              setresuid(uid, uid, uid) == 0 && prlimit(pid, RLIMIT_FSIZE, limit, NULL) == 0;

    return ok ? 0 : errno;
}

/*
 * A root without CAP_SYS_RESOURCE (containers) may not touch the limits of another uid. So a child
 * becomes that uid for a moment. Only before JOB: nothing of the job runs as it yet.
 */
static int bound_by_child(struct run *run, const struct rlimit *limit, struct err *err)
{
    auto_proc struct proc proc = PROC_INIT;
    struct proc_end end = {0};
    pid_t monitor = run->machine.proc.pid;
    int r = proc_fork(&proc, err);

    if (r == 1) {
        _exit(bound_as(run->hold->slot.uid, monitor, limit));
    }
    if (r == 0) {
        r = proc_wait(&proc, RUN_KILL_DEADLINE_NS, &end, err);
    }
    if (r == 0 && (end.signaled || end.code != 0)) {
        r = err_sys_num(err, end.signaled ? EINTR : end.code, "bound what the monitor may write");
    }
    return r;
}

int run_bound_files(struct run *run, uint64_t bytes, struct err *err)
{
    const struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
    int r = 0;

    if (prlimit(run->machine.proc.pid, RLIMIT_FSIZE, &limit, NULL) < 0) {
        r = errno == EPERM && geteuid() == 0 ? bound_by_child(run, &limit, err)
                                             : err_sys(err, "bound what the monitor may write");
    }
    if (r == 0) {
        run->file_bound = bytes;
    }
    return r;
}

/* Only less is ever needed: a machine without a job has the bound of the largest disk. */
static int bound_files(struct run *run, struct err *err)
{
    uint64_t bytes = run->spec->limits.disk_bytes;

    return run->file_bound == bytes ? 0 : run_bound_files(run, bytes, err);
}

void run_bind_job(struct run *run)
{
    struct err err = ERR_INIT;

    if (bound_files(run, &err) < 0 ||
        session_init(&run->session, run->machine.channel_fd, run->spec, &run->events, &err) < 0) {
        run_decide_by_err(run, &err, "boot");
        return;
    }
    run->session_made = true;
    run->session.sink = (struct session_sink){.write = sink, .ctx = run};
    run->session.output_fd = run->output_fd;
    run->session.next_seq = run->said_seq;
    run->session.heard_seq = run->heard_seq;
    run->session.stage = &run->stage;
    run->session.warm = run->template.interpreter.waits;
    note_interpreter(run);
    run->session.stdin_fd = run->input.fd;
    run->session.stdin_size = run->input.bytes;
}
