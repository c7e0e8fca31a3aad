/*
 * service-internal.h - what the parts of the service share.
 *
 *   service.c          the calls of service.h that read, and the watches
 *   service-submit.c   a request becomes a job that waits
 *   schedule-jobs.c    which job gets a machine, when; expiry; the pool's plan
 *   runner.c           a job that has a machine, from the launcher's answer to its result
 *   ending.c           the end of a job: result, row, slot
 *   recover.c          after a restart
 *   upkeep.c           retention, and what is asked of the launcher now and then
 *
 * A job that has a slot in the queue is a struct active; a job that waits is in the store, the queue
 * and its directory alone.
 */
#pragma once

#include <event2/event.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "daemon/capacity.h"
#include "daemon/jobfiles.h"
#include "daemon/jobstore.h"
#include "daemon/launcher.h"
#include "daemon/log.h"
#include "daemon/metrics.h"
#include "daemon/plan.h"
#include "daemon/queue.h"
#include "daemon/rate.h"
#include "daemon/remover.h"
#include "daemon/service-run.h"

/* The record of a job's machine, beside the job's other files. */
#define SERVICE_RECORD_NAME "record.json"

/* Asked of the launcher at once by us; it takes LAUNCHER_ASKED_MAX. */
#define SERVICE_STARTS_MAX 48u

/* What a result says of itself. */
struct ending_said {
    enum airlock_verdict verdict;
    char reason[JOB_REASON_SIZE];
    char message[ERR_MSG_MAX];
    bool started; /* the program did */
    uint64_t started_ns, exited_ns, total_ns, cpu_ns;
    unsigned int unclean; /* checks of the cleanup that failed */
};

struct active {
    struct active *next;
    struct service *s;
    uint64_t number; /* of the question to the launcher */
    struct job_info info;
    struct jobfiles files;
    struct sup sup;
    struct event *ev;      /* sup.fd */
    struct event *again;   /* a step that had no room is tried again */
    uint64_t memory_bytes; /* of its need */
    bool answered;         /* by the launcher */
    bool canceled;         /* the supervisor was told */
    bool faulty;           /* its output could not be kept: whatever it comes to is no success */
    bool stdout_cut;       /* the program is known to have written more than was kept */
    bool stderr_cut;
    bool cut_known; /* both are a record's word: else a full stream counts as cut */
    bool ending;    /* the result is in `result`, its slot was given back */
    struct buf result;
    struct ending_said said; /* of it */
};

/* A record that the launcher was asked for. */
struct asked_record {
    struct asked_record *next;
    uint64_t number;
    char id[JOB_ID_SIZE];
    bool recovering; /* recover.c asks: what became of it */
    unsigned int tries;
};

struct service {
    struct service_config c;
    struct queue *queue;
    struct rates *rates;
    struct plan plan;
    struct active *active;
    struct asked_record *records;
    struct service_watch *watches;
    struct remover *remover;
    struct event *launcher_event, *kick, *upkeep, *removed;
    uint64_t number;                       /* last one given to a question */
    uint64_t images_asked, capacity_asked; /* their numbers, 0 = not now */
    uint64_t images_ns;                    /* when they were asked for last */
    json_t *images, *capacity;             /* last answers; NULL = none yet */
    uint64_t untouched_bytes;              /* of it */
    uint64_t taken_since;                  /* memory of jobs that got a slot after it was asked */
    uint64_t starts;                       /* asked, not answered */
    const char *fault;                     /* why nothing is taken now; a constant */
    bool draining, lost_launcher;
    uint64_t wipe_bytes;                  /* of specifications to be overwritten, not yet asked */
    uint64_t wiping_bytes;                /* ... and asked of the thread that does it */
    bool removal_failed;                  /* something could not be removed: once more later */
    uint64_t upkeep_ns;                   /* of the last retention */
    uint64_t real_ms, boot_ms;            /* of the last tick, to see that the clock jumped */
    uint64_t odd_until_ms;                /* by boot_ms: nothing goes for its age */
    char accounts_after[JOB_TENANT_SIZE]; /* where its next look at tenants begins */
    struct capacity_need total;           /* of the host at the start */
};

uint64_t service_real_ms(void);

/* News of a job, to all that watch it. */
void service_news(struct service *s, const char *id) nonnull_all;

/* schedule-jobs.c: gives slots to all that can have one now. */
void service_schedule(struct service *s) nonnull_all;
/* On the loop's next turn. */
void service_kick(struct service *s) nonnull_all;

/* runner.c */
must_use int runner_begin(struct service *s, const struct queue_job *job,
                          struct err *err) nonnull_all;
void runner_answer(struct service *s, struct launcher_answer *answer) nonnull_all;
void runner_cancel(struct active *a) nonnull_all;
struct active *runner_find(struct service *s, const char *id) nonnull_all;
/* NULL: no memory. */
struct active *runner_new(struct service *s) nonnull_all;
/* Out of the list, and freed. */
void runner_drop(struct active *a) nonnull_all;
void runner_free(struct active *a) nonnull_all;

/*
 * ending.c: of a job that has no machine (any more): its slot is given back if it has one, result and
 * row are written; what finds no room is tried again until there is some.
 */
void ending_own(struct service *s, struct active *a, enum airlock_verdict verdict,
                const char *reason, const char *text) nonnull_all;
/* The same with the supervisor's word, the text of the result. */
void ending_result(struct active *a, const uint8_t *json, size_t len) nonnull_all;
/* A job that waited: in store and directory alone. */
void ending_waiting(struct service *s, const char *id, enum airlock_verdict verdict,
                    const char *reason, const char *text) nonnull_all;
/* A job of the store becomes active without a slot, to be ended. NULL if it can't be read. */
struct active *ending_load(struct service *s, const char *id) nonnull_all;

/* The text of a result. ERR_HOST if it is none. */
must_use int ending_read(const uint8_t *json, size_t len, struct ending_said *ret,
                         struct err *err) nonnull_all;

/* recover.c: what the store says was accepted and has not ended. */
must_use int recover_jobs(struct service *s, struct err *err) nonnull_all;
/* One answer to a question about a job of the daemon's life before. */
void recover_answer(struct service *s, const struct asked_record *asked,
                    const struct launcher_answer *answer) nonnull_all;

/* upkeep.c */
/* Has overwritten what ended jobs brought. */
void upkeep_wipe(struct service *s) nonnull_all;
void upkeep_answer(struct service *s, struct launcher_answer *answer) nonnull_all;
void upkeep_tick(struct service *s) nonnull_all;
/* Asks for the record of a job's machine, to keep it with the job. */
void upkeep_ask_record(struct service *s, const struct job_info *info, bool recovering,
                       unsigned int tries) nonnull_all;

/* The queue's quota of a tenant as it is now. */
void service_quota(struct service *s, const char *tenant, struct tenant *ret) nonnull_all;

/* A line in the log about an error of ours. */
void service_complain(struct service *s, const char *event, const char *job, const struct err *err)
    nonnull_args(1, 2, 4);
