/*
 * service.h - what airlockd does for its callers, whatever they speak.
 *
 * One thread, one event loop (libevent).  The API (api-*.c) turns requests into these calls and the
 * answers into HTTP; nothing here knows HTTP but the status number of a refusal.
 */
#pragma once

#include <event2/event.h>
#include <jansson.h>

#include "base/base.h"
#include "base/err.h"

#include "daemon/job.h"
#include "daemon/tenant.h"
#include "job/spec.h"
#include "sys/digest.h"

struct service;

/* Why a request is not served: an RFC 9457 problem. All texts are ours, none quotes a value. */
struct refusal {
    unsigned int status; /* HTTP; 0 = not refused */
    const char *type;    /* a constant, last part of the problem's URI: "queue-full" */
    char field[128];     /* what was wrong, as in errors of spec_from_json(); "" = none */
    char detail[ERR_MSG_MAX];
    uint64_t retry_after_s; /* 0 = not said */
};

struct service_job {
    struct spec spec; /* checked; inline bytes alone, no path of the host and no descriptor */
    unsigned int priority;
    uint64_t deadline_ms;   /* from now; 0 = none */
    char key[JOB_KEY_SIZE]; /* Idempotency-Key; "" = none */
    struct digest body;     /* of the request, to tell a repeated key with another body */
};

/*
 * Accepts a job: quotas, queue, store, in this order; nothing of it is left if any says no. 0, or 1
 * if the key named an accepted job (*ret is that one). Negative: *ret_refusal if its status is not
 * 0, else err (500).
 */
must_use int service_submit(struct service *s, const struct tenant *tenant, struct service_job *job,
                            struct job_info *ret, struct refusal *ret_refusal,
                            struct err *err) nonnull_all;

/* -ENOENT (ERR_USAGE) if there is none, or it is another tenant's: the two can't be told apart. */
must_use int service_get(struct service *s, const struct tenant *tenant, const char *id,
                         struct job_info *ret, struct err *err) nonnull_all;

struct job_filter {
    int state;               /* enum job_state; -1 = any */
    int verdict;             /* enum airlock_verdict; -1 = any */
    char after[JOB_ID_SIZE]; /* cursor: the last job of the page before; "" = from the newest */
    size_t limit;            /* 1 to JOB_PAGE_MAX */
};

#define JOB_PAGE_MAX 200u

struct jobstore_page;

/* Newest first; jobstore.h has the page: room for as many as filter->limit. */
must_use int service_list(struct service *s, const struct tenant *tenant,
                          const struct job_filter *filter, struct jobstore_page *page,
                          struct err *err) nonnull_all;

/* Asks for the end. A queued job has ended when this returns; of others watch the state. */
must_use int service_cancel(struct service *s, const struct tenant *tenant, const char *id,
                            struct job_info *ret, struct err *err) nonnull_all;

/*
 * Removes the bytes of an ended job, overwritten; the row stays, purged. 0: they are gone; 1: nobody
 * gets at them any more and they are being overwritten: watch the job and ask again. -EBUSY: not
 * ended.
 */
must_use int service_purge(struct service *s, const struct tenant *tenant, const char *id,
                           struct err *err) nonnull_all;

/* The directory of a job (jobfiles.h). The caller owns *ret_dirfd. -ENOENT also when purged. */
must_use int service_files(struct service *s, const struct tenant *tenant, const char *id,
                           int *ret_dirfd, struct err *err) nonnull_all;

/* Heard whenever there is something new of a job: an event, a state, its end. Never from within
 * service_watch(). The owner embeds it and removes it before it goes. */
struct service_watch {
    void (*changed)(struct service_watch *watch);
    char id[JOB_ID_SIZE];
    bool removal;                     /* also whenever something was removed; its owner's */
    struct service_watch *next, **at; /* the service's */
};

void service_watch(struct service *s, const char *id, struct service_watch *watch) nonnull_all;
void service_unwatch(struct service_watch *watch) nonnull_all;

/* For the API, new references: images, capacity (-EAGAIN: not known yet), a machine's record (-ENOENT). */
must_use int service_images(struct service *s, json_t **ret, struct err *err) nonnull_all;
must_use int service_capacity(struct service *s, json_t **ret, struct err *err) nonnull_all;
must_use int service_record(struct service *s, const struct tenant *tenant, const char *id,
                            json_t **ret, struct err *err) nonnull_all;

/* Whether jobs are taken now (readiness); if not, *ret_why is a constant. */
must_use bool service_ready(const struct service *s, const char **ret_why) nonnull_all;
