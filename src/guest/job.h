/* job.h - everything of a JOB that happens before its program: identity, limits, files. */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "guest/boot.h"
#include "proto/msg.h"

/*
 * Mounts the scratch filesystem, if airlock.scratch=INODES on the kernel's command line says that
 * every job of this machine has the same: its device then holds it already.
 */
must_use int job_mount_ahead(struct boot *boot, struct err *err) nonnull_all;

/*
 * Applies job in the order that uniqueness needs (entropy first) and wipes its entropy. On failure
 * *ret_phase names the step, for FAILED.
 */
must_use int job_apply(const struct boot *boot, struct msg_job *job, const char **ret_phase,
                       struct err *err) nonnull_all;

/* Takes back what a rehearsal left: its program file and its shared memory. */
must_use int job_undo(const struct msg_job *job, struct err *err) nonnull_all;

/* Bytes used on the scratch filesystem. */
must_use int job_scratch_used(uint64_t *ret, struct err *err) nonnull_all;
