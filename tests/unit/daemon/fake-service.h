/*
 * fake-service.h - service.h without machines: what the HTTP side is tested against.
 *
 * Jobs are real directories (jobfiles.h); what becomes of them the test says. With `play` a job lives
 * by itself: it runs, prints its program back, and ends, unless the program is "hang".
 */
#pragma once

#include <event2/event.h>

#include "base/base.h"
#include "base/err.h"

#include "daemon/jobfiles.h"
#include "daemon/server.h"

#define FAKE_JOBS 512u

/* dir: an existing directory for the jobs. */
must_use int fake_service_new(struct event_base *base, const char *dir, bool play,
                              struct service **ret, struct err *err) nonnull_all;
void fake_service_free(struct service *s);

/* Tokens "Bearer alk_a" to "alk_z" are tenants "a" to "z"; without tokens everybody is "local". */
void fake_use_tokens(struct service *s, bool use) nonnull_all;
int fake_authorize(void *ctx, const char *authorization, bool local, struct tenant *ret_tenant,
                   struct refusal *ret_refusal, struct err *err);

/* Of the job that was accepted last; "" if none. */
const char *fake_last(const struct service *s) nonnull_all;
size_t fake_accepted(const struct service *s) nonnull_all;
size_t fake_watches(const struct service *s) nonnull_all;
/* What the last job was made of; NULL if there is none. */
const struct service_job *fake_job(const struct service *s) nonnull_all;

must_use int fake_run(struct service *s, const char *id, struct err *err) nonnull_all;
must_use int fake_print(struct service *s, const char *id, const void *data, size_t len,
                        struct err *err) nonnull_all;
must_use int fake_end(struct service *s, const char *id, int verdict, struct err *err) nonnull_all;
/* Refuses jobs beyond that many which have not ended. */
void fake_set_room(struct service *s, size_t jobs) nonnull_all;
void fake_set_ready(struct service *s, bool ready) nonnull_all;
