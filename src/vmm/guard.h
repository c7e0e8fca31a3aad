/*
 * guard.h - the monitor's own system call filters, one for each kind of thread, entered when all is
 * made and before the thread runs the guest or looks at anything of it.
 *
 * They stand behind the jail's (which ends the process for anything else, too) and are smaller: no
 * open, no socket, no exec, no fork; a vCPU thread may do little but KVM_RUN. ioctls are allowed by
 * their number one by one. A call that is not allowed ends the process with SIGSYS, which the
 * supervisor sees as what it is.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

enum guard_kind {
    GUARD_VCPU,   /* KVM_RUN, eventfds, waiting */
    GUARD_IO,     /* the I/O thread of a clone */
    GUARD_IO_SAVE /* that of a machine that may be saved: it reads KVM's state, too */
};

/* Before the first thread: all share one heap, since one of its own would cost a thread calls that it has not. */
void guard_prepare(void);
/* The calling thread enters its filter, for good. ERR_HOST. */
must_use int guard_enter(enum guard_kind kind, struct err *err) nonnull_all;
