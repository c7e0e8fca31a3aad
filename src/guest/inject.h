/*
 * inject.h - system calls in the name of another process, which waits in one of its own.
 *
 * For what a process alone may do to itself. It is stopped by ptrace, its registers are lent to the
 * call, and what it waited in is begun again afterwards: it can't tell.
 */
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include "base/base.h"
#include "base/err.h"

struct inject {
    pid_t pid; /* stopped; 0 = none */
    struct user_regs_struct saved;
};

#define INJECT_INIT \
    {               \
        .pid = 0    \
    }

/* Stops a process that sleeps in a system call which can be restarted (read), or is about to. */
must_use int inject_begin(struct inject *in, pid_t pid, struct err *err) nonnull_all;
/* The process makes the call. What it returned (-errno as the kernel gives it) is in *ret. */
must_use int inject_call(struct inject *in, long number, const unsigned long args[5], long *ret,
                         struct err *err) nonnull_all;
/* Lets it go on; also after a failure. Nothing if none is stopped. */
void inject_end(struct inject *in) nonnull_all;
#define auto_inject on_scope_exit(inject_end)
