/*
 * control.h - the supervisor's end of START_FD_CONTROL (start.h): told that the machine goes on, asked
 * to leave its state. I/O thread only.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "vmm/machine.h"

/* Sends one answer: START_CONTROL_*, text (may be NULL) and a newline. ERR_HOST. */
must_use int control_tell(char what, const char *text, struct err *err) nonnull_args(3);

/*
 * START_FD_CONTROL is readable: 1 if its other end is gone, 0 if what it asked for was done. SAVE
 * answers and stops the machine, with MACHINE_OFF or, if it failed, MACHINE_HOST and the reason.
 */
must_use int control_serve(struct machine *m, struct err *err) nonnull_all;
