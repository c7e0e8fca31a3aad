/*
 * jail-internal.h - the jail's steps, for jail*.c and for the test that takes single ones out.
 */
#pragma once

#include <limits.h>
#include <sys/stat.h>

#include "sup/jail.h"

/* In the order in which they are done. */
enum jail_step {
    JAIL_STEP_NS_PID, /* the namespaces: done by the one clone3 */
    JAIL_STEP_NS_NET,
    JAIL_STEP_NS_IPC,
    JAIL_STEP_NS_UTS,
    JAIL_STEP_WAIT, /* for the caller to write maps and cgroups */
    JAIL_STEP_NS_CGROUP,
    JAIL_STEP_SESSION,
    JAIL_STEP_OOM,
    JAIL_STEP_NO_CORE,
    JAIL_STEP_FDS,
    JAIL_STEP_HOSTNAME,
    JAIL_STEP_PRIVATE,
    JAIL_STEP_ROOT,
    JAIL_STEP_BINDS,
    JAIL_STEP_PIVOT,
    JAIL_STEP_READONLY,
    JAIL_STEP_KEYRING,
    JAIL_STEP_LIMITS,
    JAIL_STEP_AMBIENT,
    JAIL_STEP_BOUNDING,
    JAIL_STEP_SECUREBITS,
    JAIL_STEP_GROUPS,
    JAIL_STEP_IDS,
    JAIL_STEP_CAPS,
    JAIL_STEP_NO_NEW_PRIVS,
    JAIL_STEP_DUMPABLE,
    JAIL_STEP_UMASK,
    JAIL_STEP_DEATH,
    JAIL_STEP_SECCOMP,
    JAIL_STEP_EXEC,
    JAIL_STEP_COUNT
};

#define JAIL_SKIP(step) (1ull << (step))

/* "mount a private root", for messages. */
const char *jail_step_text(enum jail_step step);

/* What the child tells: a step and how it ended; without one the program runs. */
struct jail_report {
    int step;
    int errnum; /* 0 (JAIL_STEP_SECCOMP, with the listener attached) or the positive errno */
    int bind;   /* JAIL_STEP_BINDS: which; else -1 */
};

/* A bind's source as the child finds it. */
struct jail_source {
    char path[PATH_MAX];
    bool by_fd; /* must be exactly this file: */
    dev_t dev;
    ino_t ino;
};

struct jail_child {
    const struct jail_spec *spec;
    const struct jail_source *sources; /* one per bind */
    uint64_t skip;                     /* JAIL_SKIP() of the steps left out */
    bool rootless;
    int sock;    /* to the caller; end of file = the caller died */
    int root_fd; /* the new root; -1 until it is made */
    int bind;    /* being worked on */
};

/* The child's life from the clone to the exec. Async-signal-safe. */
_Noreturn void jail_child_run(struct jail_child *c) nonnull_all;

/* jail_spawn() without the steps of the mask: for the tests only, which link jail*.c alike. */
must_use int jail_spawn_steps(const struct jail_spec *spec, uint64_t skip, struct proc *ret,
                              struct err *err) nonnull_all;
