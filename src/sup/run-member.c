/*
 * How it works.  A member of a pool goes through the same steps as run_job(), in another order: all
 * that needs no job (slot, disks, template, machine) comes first, with a model in place of the spec,
 * and then it waits.  What a job adds comes when it is there: its limits, its files in the disks that
 * the machine already has, its session, and JOB with entropy, identity and time.  From JOB on there
 * is no difference.
 *
 * Until it has said SUP_TAKEN nothing of the job has begun, and whoever sent it may give it to
 * another; so everything that tells whether this machine can have it comes before.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sup/need.h"
#include "sup/run-internal.h"
#include "sup/run.h"
#include "sys/clock.h"
#include "sys/fd.h"

/* For what is waited for without a poll: helpers, the store, the template. */
#define PREPARE_NS   (300 * NS_PER_S)
#define REHEARSAL_NS (60 * NS_PER_S)

static void make_scratch(struct run *run)
{
    struct err err = ERR_INIT;

    if (template_mounts(run->spec)) {
        return; /* it comes with the machine */
    }
    if (stage_make_scratch(&run->spec->limits, run->store->tmpfd, &run->stage, &err) < 0) {
        run_decide_by_err(run, &err, "stage");
    }
}

/* Where the monitor's limits can't be changed no job can be bound to it later. */
static void try_bound(struct run *run)
{
    struct err err = ERR_INIT;

    if (run_bound_files(run, run->file_bound, &err) < 0) {
        run_decide_by_err(run, &err, "pool");
    }
}

static void make_machine(struct run *run)
{
    void (*const steps[])(struct run * run) = {run_admit, run_take_slot, run_open_disks,
                                               make_scratch};
    struct host_tsc tsc = host_tsc_now();

    for (size_t i = 0; i < ARRAY_LEN(steps) && !run->over; i++) {
        steps[i](run);
    }
    if (!run->over) {
        run_start_machine(run, tsc);
    }
    if (!run->over) {
        try_bound(run);
    }
    if (!run->over) {
        run_serve(run, RUN_TO_RESTORED);
    }
}

static int ignore(void *ctx, bool is_stderr, const uint8_t *data, size_t len)
{
    (void)ctx;
    (void)is_stderr;
    (void)data;
    (void)len;
    return 0;
}

/*
 * Runs a program that is like many, in a fork of the interpreter that waits: what the guest executes
 * for the first time has to be translated by an emulating monitor, and is then done.  Node.js can't
 * fork, and a monitor that doesn't translate has nothing to gain.
 */
static void rehearse(struct run *run)
{
    static const char program[] =
        "import json, re, sys\n"
        "def f(a, *b, **c):\n    return [x * 2 for x in b if x], {k: str(v) for k, v in c.items()}\n"
        "class C:\n    def __init__(self, n):\n        self.n = n\n"
        "try:\n    {}['key']\nexcept KeyError as e:\n    text = f'{e!r:>20} {1 / 3:.3f}'\n"
        "print(json.dumps(json.loads('{\"a\": [1, 2.5, null, \"x\"]}')), f(1, 2, 3, k=C(4).n), text)\n"
        "print(re.sub('[a-z]+', 'x', 'one two'), sorted({'b', 'a'}), sys.argv, file=sys.stderr)\n";
    const struct spec model = run->spec_copy; /* shallow */
    struct stage stage = STAGE_INIT;
    auto_fd int sink = -1;
    struct err err = ERR_INIT;

    if (!run->template.interpreter.waits || model.language != SPEC_PYTHON ||
        !spec_disk_is_default(&model.limits) || /* that disk is made and mounted for one job */
        strcmp(run->engine->isolation, "emulated") != 0) {
        return;
    }
    run->spec_copy.limits.wall_ns = run->spec_copy.limits.cpu_ns = REHEARSAL_NS;
    if (buf_put(&stage.program_data, program, sizeof(program) - 1) < 0 ||
        fd_open_tmp(run->store->tmpfd, &sink, &err) < 0 ||
        session_init(&run->session, run->machine.channel_fd, run->spec, &run->events, &err) < 0) {
        run->spec_copy = model;
        run_decide(run, EVENT_HOST_FAULT, "pool", "a rehearsal could not begin");
        buf_fini(&stage.program_data);
        return;
    }
    run->session_made = true;
    run->session.sink = (struct session_sink){.write = ignore, .ctx = run};
    run->session.output_fd = sink;
    run->session.stage = &stage;
    run->session.warm = true;
    run->session.rehearsal = true;
    run_send_job(run);
    if (!run->over) {
        run_serve(run, RUN_TO_REPORT);
    }
    if (!run->over && (run->session.state != SESSION_DONE || run->session.tail_len == 0)) {
        run_decide(run, EVENT_HOST_FAULT, "pool", "the rehearsal did not do what it should");
    }
    run->said_seq = run->session.next_seq;
    run->heard_seq = run->session.dec.next_seq;
    session_fini(&run->session);
    run->session_made = false;
    run->session = (struct session){.state = SESSION_BOOT}; /* as if there had been none */
    run->spec_copy = model;
    run->phase_of_deadline = SESSION_BOOT;
    buf_fini(&stage.program_data);
}

/* What a machine with a job may have; it had less while it waited. */
static int hold_all(struct run *run, const struct spec *spec, struct err *err)
{
    const struct ledger_need need = need_of_spec(spec, run->engine, true);

    return hold_set_need(run->hold, run->store, &need, err);
}

static void wait_for_job(struct run *run)
{
    const struct ledger_need waiting = need_of_waiting();
    struct err err = ERR_INIT;

    if (hold_set_need(run->hold, run->store, &waiting, &err) < 0) {
        run_decide_by_err(run, &err, "pool");
        return;
    }
    if (client_put(run->client, SUP_WAITS, NULL, 0) < 0) {
        run_decide(run, EVENT_HOST_FAULT, "pool", "out of memory");
        return;
    }
    client_flush(run->client);
    run->phase_deadline = UINT64_MAX; /* the pool knows how long a member may wait */
    run_serve(run, RUN_TO_JOB);
    if (run->over) {
        return;
    }
    run_last_resort(PREPARE_NS);
    if (handover_receive(run->client->fd, &run->handover, &err) < 0) {
        run_decide(run, err.errnum == EPIPE ? EVENT_CANCELED : EVENT_HOST_FAULT, "pool", err.msg);
    } else if (!class_fits(run->store, run->spec, &run->handover.spec) ||
               !template_fits(&run->template, &run->handover.spec)) {
        run_decide(run, EVENT_HOST_FAULT, "pool", "the job asks for another machine");
    } else if (hold_all(run, &run->handover.spec, &err) < 0) {
        run_decide(run, EVENT_HOST_FAULT, "pool", err.msg);
    } else if (fchdir(run->handover.dir_fd) < 0) {
        (void)err_sys(&err, "go to the caller's working directory");
        run_decide(run, EVENT_HOST_FAULT, "pool", err.msg);
    }
}

/* A reaper that knows the job takes the place of the one that does not; there always is one. */
static void change_reaper(struct run *run)
{
    struct err err = ERR_INIT;

    run->former = run->reaper;
    run->reaper = (struct reaper)REAPER_INIT;
    if (reaper_start(run->hold, &run->reaper_work, &run->reaper, &err) < 0) {
        run->reaper = run->former;
        run->former = (struct reaper)REAPER_INIT;
        run_decide_by_err(run, &err, "admit");
        return;
    }
    reaper_excuse(&run->former);
}

static void take_job(struct run *run)
{
    const struct handover *h = &run->handover;
    run->has_job = true;
    run->streaming = h->streaming;
    run->submitted_ns = h->submitted_ns;
    run->result.pooled = true;
    run->result.template_built = false; /* if it was, then not for this job */
    run->result.phases = (struct result_phases){0};
    run->events = (struct events){.n = 0};
    run_set_spec(run, &h->spec);
    run_engine_defaults(run);
    run->client->queue.max = client_queue_max(&run->spec->limits);
    if (client_put(run->client, SUP_TAKEN, NULL, 0) < 0) {
        run_decide(run, EVENT_HOST_FAULT, "pool", "out of memory");
        return;
    }
    run_tell_machine(run);
    run_phase(run, "stage");
    run_note_submission(run);
    change_reaper(run);
    run->result.phases.admitted = run_now(run);
}

static void give_job(struct run *run)
{
    void (*const steps[])(struct run * run) = {take_job,     run_spool,        run_stage,
                                               run_bind_job, run_note_monitor, run_send_job};

    for (size_t i = 0; i < ARRAY_LEN(steps) && !run->over; i++) {
        steps[i](run);
    }
}

int run_member(const struct spec *model, const struct store *store, struct hold *hold,
               struct client *client)
{
    struct run *run = run_new(model, store, hold, client, clock_mono_ns());

    if (run == NULL) {
        return -ENOMEM;
    }
    run_last_resort(PREPARE_NS);
    make_machine(run);
    run_last_resort(0); /* every wait is a poll, until there is a job */
    if (!run->over) {
        rehearse(run);
    }
    if (!run->over) {
        wait_for_job(run);
    }
    if (!run->over) {
        run_last_resort(2 * RUN_STAGE_DEADLINE_NS + PREPARE_NS);
        give_job(run);
    }
    if (!run->over) {
        run_last_resort(0);
        run_serve(run, RUN_TO_REPORT);
    }
    return run_finish(run);
}
