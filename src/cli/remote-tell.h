/*
 * remote-tell.h - what the commands that talk to a daemon print, and how they end.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "airlock/verdict.h"
#include "cli/relay.h"
#include "cli/remote.h"
#include "cli/tell.h"

/* The verdict that an error stands for: rejected, capacity_rejected, else sandbox_failure. */
enum airlock_verdict remote_verdict(const struct err *err) nonnull_all;

/* The id and a newline on stdout, or all of it as JSON. */
must_use int remote_tell_job(const struct remote_job *job, bool json, struct err *err) nonnull_all;
/* One JSON value and a newline on stdout. */
must_use int remote_tell_json(const json_t *json, struct err *err) nonnull_all;

/* Follows a job to its end as `airlock run` does its own. Returns the exit code. */
must_use int remote_tell_follow(struct teller *t, const struct relay_job *job) nonnull_all;

/* "airlock NAME: MESSAGE" on stderr, harmless; returns the exit code for it. */
int remote_tell_error(const char *name, const struct err *err) nonnull_all;
