/* job.h - everything of a JOB that happens before its program: identity, limits, files. */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "guest/boot.h"
#include "proto/msg.h"

/*
 * What most jobs of this machine need alike, by the kernel's command line, so that it need not be
 * made while one waits: shared memory of airlock.shm=BYTES; with airlock.scratch=INODES the scratch
 * filesystem, which its device then holds already, and on it the file of the program airlock.warm=.
 */
must_use int job_make_ahead(struct boot *boot, struct err *err) nonnull_all;

/*
 * Applies job in the order that uniqueness needs (entropy first) and wipes its entropy. On failure
 * *ret_phase names the step, for FAILED.
 */
must_use int job_apply(struct boot *boot, struct msg_job *job, const char **ret_phase,
                       struct err *err) nonnull_all;

/* Takes back what a rehearsal left: its program. What it does not use, shared memory, it leaves. */
must_use int job_undo(const struct boot *boot, const struct msg_job *job,
                      struct err *err) nonnull_all;

/* Bytes used on the scratch filesystem. */
must_use int job_scratch_used(uint64_t *ret, struct err *err) nonnull_all;
