/*
 * warm.h - an interpreter that waits, started before there is a job, to become the job's program.
 *
 * It is the very process that a job without it would start: the same arguments ("python3 main.py",
 * "node main.js"), in the same sandbox.  A hook that the interpreter itself offers (a
 * sitecustomize module, a preloaded module) makes it wait on a pipe before it looks at main.py; the
 * job's arguments and environment come over that pipe, the hook puts them where a start would have
 * put them and removes its own traces, and the interpreter goes on to the program by itself
 * (warm/python.py, warm/node.js, docs/warm.md).
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "guest/child.h"
#include "guest/procargs.h"
#include "guest/streams.h"
#include "proto/msg.h"

/*
 * Descriptors of the waiting interpreter: so high that what it opens itself has its usual ones, and
 * below the 64 that its table has room for at first.
 */
#define WARM_GO_FD  62 /* read end of the pipe that its job comes through */
#define WARM_ACK_FD 63 /* write end of its answers: 'r' it waits, 'g' it becomes the program */

struct warm {
    const struct warm_kind *kind; /* NULL: the kernel's command line asks for none */
    int go_fd;                    /* -1: none waits */
    pid_t pid;                    /* of the interpreter, in the agent's namespace */
    struct procargs args;
    uint64_t cpu_usec; /* of the job's cgroup until now: not the job's */
};

#define WARM_INIT   \
    {               \
        .go_fd = -1 \
    }

/*
 * Starts what airlock.warm= on the kernel's command line asks for, if it does, and returns when it
 * waits. Failing leaves nothing behind and says why there is none: jobs then start their own.
 */
must_use int warm_boot(struct warm *w, struct streams *io, struct child *child,
                       struct err *err) nonnull_all;

/*
 * Everything is in place: it becomes the job's program, or a fork of it does. What it answers is the
 * exec pipe's.
 */
must_use int warm_go(struct warm *w, const struct msg_job *job, struct err *err) nonnull_all;
