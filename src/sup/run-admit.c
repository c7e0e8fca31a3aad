#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "sup/run-internal.h"
#include "sup/run.h"
#include "sys/clock.h"
#include "sys/fd.h"

static void make_machine_id(struct run *run)
{
    uint8_t id[16];
    struct err err = ERR_INIT;
    auto_fd int fd = -1;
    size_t got = 0;

    if (fd_open(AT_FDCWD, "/dev/urandom", O_RDONLY, 0, &fd, &err) < 0 ||
        fd_read_full(fd, id, sizeof(id), &got, &err) < 0 || got != sizeof(id)) {
        run_decide(run, EVENT_HOST_FAULT, "admit", "no random bytes from /dev/urandom");
        return;
    }
    for (size_t i = 0; i < sizeof(id); i++) {
        (void)snprintf(run->result.machine_id + 2 * i, 3, "%02x", id[i]);
    }
}

static bool has_archive(const struct spec *spec)
{
    return spec->archive_path != NULL || spec->archive_data != NULL;
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
                      (spool_needed(run->spec) ? l->stdin_bytes : 0) +
                      (has_archive(run->spec) ? l->input_bytes + run->spec->archive_len : 0);
    if (hold_take(run->hold, run->store, &need, &err) < 0 ||
        reaper_start(run->hold, run->spec->out_dir, run->result.machine_id, &run->reaper, &err) <
            0) {
        run_decide_by_err(run, &err, "admit");
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

    assert(image != NULL); /* spec_check() refuses a command without an image */
    if (engine_select(run->spec->engine, run->spec->isolation, &run->engine, &err) < 0) {
        run_decide_by_err(run, &err, "engine_unavailable");
        return;
    }
    run->result.engine = run->engine->name;
    run->result.isolation = run->engine->isolation;
    if (!run->spec->cpu_given && strcmp(run->engine->isolation, "emulated") == 0) {
        run->spec_copy.limits.cpu_ns = SPEC_CPU_EMULATED_NS;
    }
    if (run->engine->version(run->monitor_version, sizeof(run->monitor_version), &err) < 0) {
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

/* The archive into entries and a file of their data (owned); then all inputs into the image. */
static int stage_inputs(struct run *run, struct err *err)
{
    const struct unpack_budget budget = stage_archive_budget(run->spec);
    auto_unpacked struct unpacked entries = {0};
    auto_fd int archive = -1;
    auto_fd int data = -1;
    struct stat st = {0};
    int r = 0;

    if (!has_archive(run->spec)) {
        return stage_build(run->spec, NULL, run->store->tmpfd, &run->stage, err);
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
    return stage_build(run->spec, &(struct stage_archive){.entries = &entries, .data_fd = data},
                       run->store->tmpfd, &run->stage, err);
}

void run_stage(struct run *run)
{
    struct err err = ERR_INIT;

    if (spool_stdin(run->spec, run->store->tmpfd, run->client, &run->input, &err) < 0) {
        if (run->client->canceled || run->client->gone) {
            run_decide(run, EVENT_CANCELED, NULL, NULL);
        } else {
            run_decide_by_err(run, &err, "stdin");
        }
        return;
    }
    /* Only now: a pipe that takes its time to end must not keep a place from others. */
    take_slot(run);
    if (run->over) {
        return;
    }
    if (stage_inputs(run, &err) < 0) {
        run_decide_by_err(run, &err, "inputs");
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

void run_start_machine(struct run *run, struct host_tsc tsc)
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

    run_phase(run, "boot");
    if (hold_group(run->hold, run->result.machine_memory_bytes, run->spec->limits.vcpus, &err) <
        0) {
        run_decide_by_err(run, &err, "boot");
        return;
    }
    run->result.cgroup = &run->hold->report;
    if (run->engine->start(&config, &run->machine, &err) < 0) {
        run_decide_by_err(run, &err, err.class == ERR_USAGE ? "engine_unavailable" : "boot");
        return;
    }
    run->machine_made = true;
    run->result.phases.spawned = run_now(run);
    if (ledger_note_monitor(&run->hold->slot, run->machine.proc.pid, &err) < 0) {
        err = (struct err)ERR_INIT; /* the slot then counts in full: only less fits */
    }
    if (fd_set_nonblock(run->machine.console_fd, &err) < 0 ||
        session_init(&run->session, run->machine.channel_fd, run->spec, &run->events, &err) < 0) {
        run_decide_by_err(run, &err, "boot");
        return;
    }
    run->session.sink = (struct session_sink){.write = sink, .ctx = run};
    run->session.output_fd = run->output_fd;
    run->session.stdin_fd = run->input.fd;
    run->session.stdin_size = run->input.bytes;
    run->phase_deadline = clock_mono_ns() + RUN_BOOT_DEADLINE_NS;
    run->phase_of_deadline = SESSION_BOOT;
}
