/*
 * run-internal.h - one job inside the supervisor, for the files that make up its life: run.c (the
 * loop and the order of it all), run-member.c (another order: the machine before the job),
 * run-admit.c (before the machine), run-kill.c (its end) and run-end.c (after it).
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "job/record.h"
#include "job/result.h"
#include "job/stage.h"
#include "sup/client.h"
#include "sup/engine.h"
#include "sup/handover.h"
#include "sup/hold.h"
#include "sup/host.h"
#include "sup/inspector.h"
#include "sup/reaper.h"
#include "sup/session.h"
#include "sup/spool.h"
#include "sup/template.h"

#define CONSOLE_KEEP 4096
#define SHOWN_MAX    ((size_t)4 * ERR_MSG_MAX) /* any of our texts, every byte escaped */

/* Until when run_serve() serves, if nothing decides before. */
enum run_goal {
    RUN_TO_REPORT,   /* the agent's report is complete */
    RUN_TO_RESTORED, /* the machine runs and waits for JOB */
    RUN_TO_JOB,      /* the caller has sent a job, or let go */
};

struct run {
    struct spec spec_copy;   /* shallow: the caller's, with the engine's own default for --cpu */
    const struct spec *spec; /* = &spec_copy */
    const struct store *store;
    struct client *client;
    struct hold *hold; /* slot and control groups */
    const struct engine *engine;
    uint64_t submitted_ns;
    uint64_t submitted_realtime_ns;
    uint64_t phase_deadline;    /* absolute ns */
    uint64_t wall_deadline;     /* absolute, 0 before STARTED */
    uint64_t cpu_base_ns;       /* of the monitor at STARTED */
    uint64_t cpu_next_check;    /* absolute */
    uint64_t memory_next_check; /* absolute, UINT64_MAX where control groups bound it */
    struct events events;
    struct result result;
    struct record record;
    struct store_boot boot;
    struct stage stage;
    struct spool input;       /* stdin */
    struct template template; /* the saved state the machine starts from */
    struct machine machine;
    struct session session;
    struct buf captured[2];
    struct inspection inspection;
    struct reaper_work reaper_work;
    struct reaper reaper;
    struct reaper former;     /* of the time before there was a job; it knows of none */
    struct handover handover; /* what a member of a pool got */
    enum run_goal goal;
    enum session_state phase_of_deadline;
    unsigned int mounts_before;
    int output_fd;
    uint64_t file_bound; /* most the monitor may write to any file */
    bool streaming;
    bool over; /* a deciding event other than the program's exit was recorded */
    bool machine_made;
    bool session_made;                 /* the job is bound to the machine */
    bool has_job;                      /* false in a member of a pool that waits */
    bool restored;                     /* the machine goes on from its saved state */
    uint32_t said_seq, heard_seq;      /* where a rehearsal left the channel; 0: there was none */
    bool called;                       /* goal RUN_TO_JOB is reached */
    bool memory_unread;                /* the last look failed */
    bool lost_stored;                  /* in the reaper: it wrote the record itself */
    char lost_group[CGROUP_NAME_SIZE]; /* the same: what it swept */
    char monitor_version[128];
    char cold_why[256];
    char console[CONSOLE_KEEP + 1]; /* last bytes of the guest's console and the monitor */
    size_t console_len;
};

/* Nanoseconds from submission; never 0, which means "not reached". */
uint64_t run_now(const struct run *run) nonnull_all;

/* Records a deciding event: the machine is then only killed. detail may be NULL. */
void run_decide(struct run *run, enum event_kind kind, const char *reason, const char *detail)
    nonnull_args(1);
/* A failure of staging or starting: what the caller can mend, what the host lacks, our fault. */
void run_decide_by_err(struct run *run, const struct err *err, const char *reason) nonnull_all;
/* Tells the caller which phase begins. */
void run_phase(struct run *run, const char *name) nonnull_all;
/* ... and the machine's id, once it has one that is a job's. */
void run_tell_machine(struct run *run) nonnull_all;
/* Hears the caller: true if it is gone or canceled. */
bool run_caller_left(struct run *run) nonnull_all;
/* Takes what the console has to say; keeps the end of it. */
void run_read_console(struct run *run) nonnull_all;
void run_keep_console(struct run *run, const char *text, size_t len) nonnull_all;
/* what, with the last line on the console: the best hint at why a monitor or kernel died. */
void run_console_hint(const struct run *run, const char *what, char *text, size_t size) nonnull_all;

/* Since the program's start. A clock that cannot be read any more says 0, not a wrap to 2^64. */
uint64_t run_cpu_used(const struct run *run, uint64_t cpu_ns) nonnull_all;

/* run.c: a run of this spec (borrowed), which may be a model that has no program. NULL: no memory. */
struct run *run_new(const struct spec *spec, const struct store *store, struct hold *hold,
                    struct client *client, uint64_t submitted_ns) nonnull_all;
/* The spec, and what is as large as it says. */
void run_set_spec(struct run *run, const struct spec *spec) nonnull_all;
/* Serves machine and caller until the goal is reached, or until the first deciding event. */
void run_serve(struct run *run, enum run_goal goal) nonnull_all;
/* The machine runs, and the job is bound to it: sends JOB, with the time as it is. */
void run_send_job(struct run *run) nonnull_all;
/* The machine's end, and all that comes after it, whatever happened. Takes and frees run. */
must_use int run_finish(struct run *take_run) nonnull_all;
/* The last resort against a wait that no poll can end; 0 takes it back. */
void run_last_resort(uint64_t ns);

/* run-admit.c: each records a deciding event if it fails. */
void run_admit(struct run *run) nonnull_all;
void run_take_slot(struct run *run) nonnull_all;
void run_spool(struct run *run) nonnull_all;      /* stdin */
void run_open_disks(struct run *run) nonnull_all; /* empty */
void run_stage(struct run *run) nonnull_all;      /* fills them */
void run_start_machine(struct run *run, struct host_tsc tsc) nonnull_all;
/* Binds the job to the machine: its session and what the monitor may write. */
void run_bind_job(struct run *run) nonnull_all;
/* The engine's own default of --cpu. */
void run_engine_defaults(struct run *run) nonnull_all;

/* The monitor is told to the ledger, with what it may still take of the disk. */
void run_note_monitor(struct run *run) nonnull_all;
/* Bounds what the monitor may write to any file; never raises it. */
must_use int run_bound_files(struct run *run, uint64_t bytes, struct err *err) nonnull_all;

/* run-kill.c, run-end.c, in this order; each looks for itself whether there is something to do. */
void run_kill_machine(struct run *run) nonnull_all;
void run_inspect(struct run *run) nonnull_all;
void run_export(struct run *run) nonnull_all;
void run_prove_cleanup(struct run *run) nonnull_all;
must_use int run_answer(struct run *run) nonnull_all;

/* run-proof.c: what the proof compares with later; then the record, and its keeping. */
void run_prepare_proof(struct run *run) nonnull_all;
/* What record and reaper tell of the job, as its spec and submission are now. */
void run_note_submission(struct run *run) nonnull_all;
void run_record_lost(void *ctx, bool swept) nonnull_all;
