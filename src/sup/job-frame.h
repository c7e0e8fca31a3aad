/* job-frame.h - the one JOB message made from a specification. */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "job/spec.h"
#include "job/stage.h"

/*
 * Appends the encoded struct msg_job: fresh entropy, time and identity, limits, argv, environment.
 */
struct job_frame {
    const struct spec *spec;
    const struct stage *stage; /* what the guest shall find; NULL: all of it on the input device */
    bool has_stdin;
    bool warm;      /* the program is to be the interpreter that waits */
    bool rehearsal; /* a fork of it, and it waits on; the clock stays where it was saved */
};

must_use int job_frame_build(const struct job_frame *frame, struct buf *out,
                             struct err *err) nonnull_all;
