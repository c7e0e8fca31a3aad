/*
 * run-internal.h - one job inside the supervisor, for the files that make up its life: run.c (the
 * loop and the order of it all), run-admit.c (before the machine), run-kill.c (its end) and run-end.c (after it).
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
#include "sup/hold.h"
#include "sup/host.h"
#include "sup/inspector.h"
#include "sup/reaper.h"
#include "sup/session.h"
#include "sup/spool.h"
#include "sup/template.h"

#define CONSOLE_KEEP 4096
#define SHOWN_MAX    ((size_t)4 * ERR_MSG_MAX) /* any of our texts, every byte escaped */

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
    enum session_state phase_of_deadline;
    unsigned int mounts_before;
    int output_fd;
    bool streaming;
    bool over; /* a deciding event other than the program's exit was recorded */
    bool machine_made;
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
/* Hears the caller: true if it is gone or canceled. */
bool run_caller_left(struct run *run) nonnull_all;
/* Takes what the console has to say; keeps the end of it. */
void run_read_console(struct run *run) nonnull_all;
void run_keep_console(struct run *run, const char *text, size_t len) nonnull_all;
/* what, with the last line on the console: the best hint at why a monitor or kernel died. */
void run_console_hint(const struct run *run, const char *what, char *text, size_t size) nonnull_all;

/* Since the program's start. A clock that cannot be read any more says 0, not a wrap to 2^64. */
uint64_t run_cpu_used(const struct run *run, uint64_t cpu_ns) nonnull_all;

/* run-admit.c: each records a deciding event if it fails. */
void run_admit(struct run *run) nonnull_all;
void run_stage(struct run *run) nonnull_all;
void run_start_machine(struct run *run, struct host_tsc tsc) nonnull_all;

/* run-kill.c, run-end.c, in this order; each looks for itself whether there is something to do. */
void run_kill_machine(struct run *run) nonnull_all;
void run_inspect(struct run *run) nonnull_all;
void run_export(struct run *run) nonnull_all;
void run_prove_cleanup(struct run *run) nonnull_all;
must_use int run_answer(struct run *run) nonnull_all;

/* run-proof.c: what the proof compares with later; then the record, and its keeping. */
void run_prepare_proof(struct run *run) nonnull_all;
void run_record_lost(void *ctx, bool swept) nonnull_all;
