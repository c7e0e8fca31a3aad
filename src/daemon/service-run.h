/*
 * service-run.h - the service's life: made by main.c, which owns what it is made of.
 */
#pragma once

#include <event2/event.h>

#include "base/base.h"
#include "base/err.h"

#include "daemon/config.h"
#include "daemon/jobstore.h"
#include "daemon/launcher.h"
#include "daemon/log.h"
#include "daemon/metrics.h"
#include "daemon/service.h"
#include "daemon/tenant.h"

/* All borrowed, as long as the service lives. */
struct service_config {
    struct event_base *base;
    struct launcher *launcher;
    struct jobstore *store;
    struct tenants *tenants;
    struct log *log;
    struct metrics *metrics;
    const struct config *config; /* read anew each time: a reload changes it */
    int state_fd;                /* STATE: machines write to its file system */
    int jobs_fd;                 /* STATE/daemon/jobs */
    /* The launcher is gone: nothing can run any more. */
    void (*lost)(void *ctx);
    void *ctx;
};

/*
 * Takes up what the store says was accepted and has not ended; nothing of it starts before the loop
 * runs. The caller owns *ret.
 */
must_use int service_new(const struct service_config *config, struct service **ret,
                         struct err *err) nonnull_all;
/* Lets go of what runs: supervisors see it and clean up. NULL is fine. */
void service_free(struct service *s);

/* From now on nothing is accepted or started; what runs goes on. */
void service_drain(struct service *s) nonnull_all;
/* Asks for the end of all that runs. */
void service_cancel_all(struct service *s) nonnull_all;
/* Jobs that have machines, or whose end is not written down yet. */
must_use size_t service_running(const struct service *s) nonnull_all;
/* After a reload of the configuration. */
void service_reloaded(struct service *s) nonnull_all;

/* As server.h wants it; ctx is the service. */
must_use int service_authorize(void *ctx, const char *authorization, bool local,
                               struct tenant *ret_tenant, struct refusal *ret_refusal,
                               struct err *err) nonnull_args(1, 4, 5, 6);
