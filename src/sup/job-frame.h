/* job-frame.h - the one JOB message made from a specification. */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "job/spec.h"

/*
 * Appends the encoded struct msg_job: fresh entropy, time and identity, limits, argv, environment.
 * warm: the program is to be the interpreter that waits.
 */
must_use int job_frame_build(const struct spec *spec, bool has_stdin, bool warm, struct buf *out,
                             struct err *err) nonnull_all;
