/*
 * qemu-control.h - what airlock says to a QEMU over its control socket (QMP), and hears.
 *
 * Only to save a machine or to let it go on from a saved state, both before it has a job: the guest
 * is then our own kernel and agent alone.  The socket is closed before the job is sent, so nothing
 * that a guest could have taken over is ever read from it.  docs/interop/qmp-spec.txt and
 * docs/devel/migration.rst of QEMU 7.2.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "sup/engine.h"

/*
 * A connected pair; with a state_fd (>= 0, borrowed, at its offset) the commands that restore it
 * wait in it for the monitor. The caller owns both ends.
 */
must_use int qemu_control_open(int state_fd, int *ret_ours, int *ret_theirs,
                               struct err *err) nonnull_all;
/* engine->save and engine->control. */
must_use int qemu_control_save(struct machine *m, int state_fd, struct err *err) nonnull_all;
must_use int qemu_control_read(struct machine *m, struct err *err) nonnull_all;
