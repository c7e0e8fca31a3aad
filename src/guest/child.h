/*
 * child.h - the sandboxed program and the reaper above it.
 *
 *   agent (pid 1 of the machine)
 *     reaper   root, pid 1 of new pid, mount, ipc, uts and net namespaces; outside the job's cgroup
 *       program   uid 1000, no capabilities, in the job's cgroup from its first instruction
 *
 * With msg_job.root the program is uid 0 with every capability, and all the agent's namespaces but
 * the mount namespace are shared with it.
 *
 * Both report over one SOCK_SEQPACKET socket, whose messages carry the sender's pid as the agent
 * sees it (SCM_CREDENTIALS). The program itself holds no end of it: everything but 0-2 is closed
 * by its exec. The end of the exec pipe tells that the exec took place.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

#include "proto/msg.h"

enum report_kind {
    REPORT_MAIN = 1,   /* the program's process, about to exec: its pid */
    REPORT_END = 2,    /* the program's process ended: its wait status */
    REPORT_FAILED = 3, /* set-up or exec failed */
};

struct report {
    enum report_kind kind;
    pid_t pid; /* of the sender, in the agent's pid namespace */
    int value; /* wait status, or errno */
    char phase[16];
    char text[256];
};

struct child {
    pid_t reaper;
    int pidfd;      /* of the reaper */
    int report_fd;  /* non-blocking */
    int exec_fd;    /* end of file once the program runs; of a waiting interpreter: its answers */
    bool waits;     /* ... which it is */
    bool rehearses; /* a fork of it runs now */
};

/* Borrowed, but for what the processes get of it. */
struct child_spec {
    char *const *argv;
    char *const *envp;
    const int *stdio; /* the program's 0-2 */
    bool root;
    /*
     * -1, or the pipe of an interpreter that waits (warm.h): executed after one byte from it, and
     * has it as WARM_GO_FD and the exec pipe as WARM_ACK_FD.
     */
    int go_fd;
};

#define CHILD_INIT                                  \
    {                                               \
        .pidfd = -1, .report_fd = -1, .exec_fd = -1 \
    }

/* Starts the reaper, which starts the program. */
must_use int child_start(const struct child_spec *spec, struct child *ret,
                         struct err *err) nonnull_all;

/*
 * exec_fd can be read: 1 if the program runs from here on, 0 if not yet. Closes it then, but for a
 * rehearsal.
 */
must_use int child_exec_event(struct child *child, struct err *err) nonnull_all;
/* exec_fd can be read, and a rehearsal runs: 0 if it ended well. */
must_use int child_rehearsed(struct child *child, struct err *err) nonnull_all;

/* 1 and *ret, 0 if nothing is there now or ever will be. */
must_use int child_report(const struct child *child, struct report *ret,
                          struct err *err) nonnull_all;

/* Kills the reaper, and with it whatever lives in its pid namespace, if it has one. */
void child_kill(const struct child *child) nonnull_all;

/* After pidfd became readable: takes the reaper's end and closes everything. */
void child_reap(struct child *child) nonnull_all;
