/*
 * cgroup.h - the host's control groups for one machine, v2 (the reference) and v1.
 *
 * cgroup_detect() finds, for each thing that we want limited or counted, the hierarchy that serves
 * it and the directory in which our group `airlock` may stand, or why there is none.  A machine's
 * group `airlock/NAME` then exists once in every hierarchy that serves something: struct cgroup
 * holds it by descriptors and no path is used after its creation.
 *
 *   the host                 v2 hierarchy             v1 hierarchies         group stands in
 *   pure v2, root            everything               -                      the mount's root
 *   hybrid, root             kill, CPU time           memory, pids, ...      the mounts' roots
 *   pure v1, root            -                        everything             the mounts' roots
 *   delegated, not root      what was delegated       what is writable       our own group
 *   none                     -                        -                      nowhere; why[] says it
 *
 * v2 refuses processes beside groups with controllers ("no internal processes"): outside the real
 * root cgroup_prepare() first moves the calling process into the leaf `airlock-self`.
 *
 * Sources: Documentation/admin-guide/cgroup-v2.rst (sections named at the code),
 * Documentation/admin-guide/cgroup-v1/{cgroups,memory,pids,cpuacct,freezer-subsystem,
 * blkio-controller}.rst, Documentation/scheduler/sched-bwc.rst.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#define CGROUP_TREES_MAX 12
#define CGROUP_PATH_SIZE 512
#define CGROUP_NAME_SIZE 128 /* of a machine's group, with the NUL */
#define CGROUP_WHY_SIZE  256
#define CGROUP_UNKNOWN   UINT64_MAX /* a number that this kernel does not give */

enum cgroup_part {
    CGROUP_MEMORY,
    CGROUP_PIDS,
    CGROUP_CPU,     /* quota and weight */
    CGROUP_CPUTIME, /* what was used */
    CGROUP_IO,
    CGROUP_KILL, /* v2: cgroup.kill, or cgroup.freeze and a loop; v1: freezer and a loop */
    CGROUP_N_PARTS,
};

/* One hierarchy. */
struct cgroup_tree {
    bool v2;
    unsigned int parts;           /* bit of every cgroup_part that it can serve */
    bool usable;                  /* `airlock` can be made in base */
    bool leaf_first;              /* base is not the real root, so no process may stay in it */
    char mount[CGROUP_PATH_SIZE]; /* where it is mounted */
    char own[CGROUP_PATH_SIZE];   /* the caller's own group, as a path; "" if not below mount */
    char base[CGROUP_PATH_SIZE];  /* where `airlock` is made; "" unless usable */
    char why[CGROUP_WHY_SIZE];    /* if not usable */
};

/* Fills directories of a fake tree as a kernel would. Only unit tests have one. */
struct cgroup_fake {
    void (*made)(int dirfd, bool v2);
    void (*gone)(int dirfd); /* empties it, so that rmdir() works on plain files too */
};

struct cgroup_host {
    struct cgroup_tree trees[CGROUP_TREES_MAX];
    size_t n_trees;
    int where[CGROUP_N_PARTS];                 /* index into trees, -1 = nowhere */
    char why[CGROUP_N_PARTS][CGROUP_WHY_SIZE]; /* if nowhere: a sentence for doctor */
    bool swap;                                 /* some swap is active */
    const struct cgroup_fake *fake;            /* NULL but in tests */
};

/*
 * Reads /proc/self/mountinfo, /proc/self/cgroup and /proc/swaps and looks at the directories;
 * changes nothing. A host without control groups is a success with where[] all -1. ERR_HOST if
 * /proc can't be read.
 */
must_use int cgroup_detect(struct cgroup_host *ret, struct err *err) nonnull_all;

/* "memory", "pids", ... for messages. */
const char *cgroup_part_name(enum cgroup_part part);

/*
 * Makes `airlock` in every hierarchy that serves something and enables its controllers
 * (cgroup-v2.rst "Enabling and Disabling"). Outside the v2 root it moves the calling process, all
 * its threads, into the leaf `airlock-self` first: call it before the first fork, so that children
 * start there. A controller that can't be enabled moves to v1 or to nowhere in host, with the
 * reason. ERR_HOST if a directory can't be made. Repeating it is harmless.
 */
must_use int cgroup_prepare(struct cgroup_host *host, struct err *err) nonnull_all;

enum cgroup_limit {
    CGROUP_LIMIT_MEMORY,
    CGROUP_LIMIT_SWAP,      /* always asked together with memory: none may be used */
    CGROUP_LIMIT_OOM_GROUP, /* the same: an oom kills the whole group, not one process */
    CGROUP_LIMIT_PIDS,
    CGROUP_LIMIT_CPU_QUOTA,
    CGROUP_LIMIT_CPU_WEIGHT,
    CGROUP_LIMIT_IO_WEIGHT,
    CGROUP_LIMIT_IO_MAX,
    CGROUP_N_LIMITS,
};

/* 0 = not asked for. */
struct cgroup_limits {
    uint64_t memory_bytes; /* all of the group's memory, the kernel's part and page cache too */
    uint64_t pids;         /* processes and threads */
    uint64_t cpu_milli;    /* thousandths of one CPU: vCPUs * 1000 + overhead; at least 10 */
    /* Weights: 1..10000, 100 is the default (cgroup-v2.rst "Weights"). They divide among the
     * machines what `airlock` as a whole gets beside the host's other groups: one such share. */
    uint64_t cpu_weight;
    uint64_t io_weight; /* only BFQ and iocost heed it */
    /* Reads and writes each, on io_device. On v1 direct and synchronous requests only: buffered
     * writes are written back by the kernel's own threads. */
    uint64_t io_bytes_per_s;
    dev_t io_device; /* a whole disk, not a partition */
};

enum cgroup_enforced {
    CGROUP_NOT_ASKED,
    CGROUP_ENFORCED, /* written, and read back where the kernel can round */
    CGROUP_MOOT,     /* nothing to limit here: no swap on this host */
    CGROUP_ABSENT,   /* this host can't: the caller refuses or enforces it otherwise */
};

struct cgroup_report {
    enum cgroup_enforced state[CGROUP_N_LIMITS];
    char why[CGROUP_N_LIMITS][CGROUP_WHY_SIZE]; /* for CGROUP_ABSENT and CGROUP_MOOT */
};

const char *cgroup_limit_name(enum cgroup_limit limit);

/* A machine's group in one hierarchy. */
struct cgroup_member {
    bool v2;
    int parent_fd; /* `airlock` */
    int base_fd;   /* what `airlock` stands in */
    int dir_fd;
    int procs_fd; /* cgroup.procs, write-only */
};

/* Owns its descriptors, not the group: cgroup_fini() leaves it standing. */
struct cgroup {
    char name[CGROUP_NAME_SIZE];
    struct cgroup_member members[CGROUP_TREES_MAX];
    size_t n_members;
    int where[CGROUP_N_PARTS]; /* index into members, -1 = nowhere */
    int cpu_fd;                /* cpu.stat or cpuacct.usage, kept open for frequent reading */
    const struct cgroup_fake *fake;
};

#define CGROUP_INIT                                                                        \
    {                                                                                      \
        .where = {[0 ... CGROUP_N_PARTS - 1] = -1}, .cpu_fd = -1,                          \
        .members = {[0 ... CGROUP_TREES_MAX -                                              \
                     1] = {.parent_fd = -1, .base_fd = -1, .dir_fd = -1, .procs_fd = -1}}, \
    }

void cgroup_fini(struct cgroup *group) nonnull_all;
#define auto_cgroup on_scope_exit(cgroup_fini)

/*
 * Makes `airlock/NAME` (letters, digits, '-', '_', '.'; not at the start) in every hierarchy that
 * serves something, prepared as by cgroup_prepare(), and writes the limits. A limit that this host
 * lacks is no error: ret_report says so. *ret is for the caller to remove and fini, and is valid
 * for both also when this fails half way; it must be CGROUP_INIT before. ERR_USAGE for a bad name
 * or number; ERR_HOST/-EEXIST if the group is there already (an id is used once), and when the
 * kernel refuses a directory.
 */
must_use int cgroup_create(struct cgroup_host *host, const char *name,
                           const struct cgroup_limits *limits, struct cgroup *ret,
                           struct cgroup_report *ret_report, struct err *err) nonnull_all;

/*
 * Opens a group that another process left, for cgroup_kill() and cgroup_remove(): whatever of it
 * still stands in any hierarchy, those that serve nothing now included. ERR_USAGE/-ENOENT if
 * nothing does.
 */
must_use int cgroup_open(const struct cgroup_host *host, const char *name, struct cgroup *ret,
                         struct err *err) nonnull_all;

/* For clone3(CLONE_INTO_CGROUP), Linux 5.7: the v2 directory, borrowed; -1 if there is none. */
int cgroup_clone_fd(const struct cgroup *group) nonnull_all;

/*
 * The calling process, all threads, enters the group in every v1 hierarchy, and in v2 too unless
 * in_v2 says that clone3() put it there. One write() each, nothing else: may stand between clone
 * and exec. 0 or -errno of the first that failed.
 */
must_use int cgroup_enter(const struct cgroup *group, bool in_v2) nonnull_all;

/* Moves another process, all its threads, into the group. ERR_HOST if the kernel refuses. */
must_use int cgroup_attach(const struct cgroup *group, pid_t pid, struct err *err) nonnull_all;

/* CGROUP_UNKNOWN where this host does not count. */
struct cgroup_stats {
    uint64_t cpu_ns;            /* user and system, of all that ever ran in it, reaped too */
    uint64_t memory_bytes;      /* now */
    uint64_t memory_peak_bytes; /* ever */
    /* Processes of the group killed for memory. Compare with 0 only: under v2's oom.group the
     * kernel counts the first victim twice (seen on 6.1). */
    uint64_t oom_kills;
    uint64_t pids_peak;
    uint64_t pids_refused; /* forks refused at the limit */
};

/* ERR_HOST if a file that exists can't be read or makes no sense. */
must_use int cgroup_stats(const struct cgroup *group, struct cgroup_stats *ret,
                          struct err *err) nonnull_all;

/* Only the CPU time, in ns, by one pread(); CGROUP_UNKNOWN if nothing counts it. */
must_use int cgroup_cpu_ns(const struct cgroup *group, uint64_t *ret, struct err *err) nonnull_all;

/* True if a living process is in the group in any hierarchy. Zombies are none. */
must_use int cgroup_populated(const struct cgroup *group, bool *ret, struct err *err) nonnull_all;

/*
 * Kills every process of the group, forks in flight included, and waits until none lives.
 * v2: cgroup.kill (Linux 5.14; works without any controller); then, and where it is missing, each
 * hierarchy's list is gone through by pidfd, frozen if possible, until it stays empty.
 * ERR_HOST/-ETIMEDOUT if something still lives after timeout_ns (state D). Zombies are the
 * caller's to reap.
 */
must_use int cgroup_kill(struct cgroup *group, uint64_t timeout_ns, struct err *err) nonnull_all;

/*
 * Removes the group everywhere and checks that it is gone, retrying while the last processes die,
 * up to timeout_ns: ERR_HOST/-EBUSY then. `airlock` itself goes too if it is empty. Members that
 * were removed are closed.
 */
must_use int cgroup_remove(struct cgroup *group, uint64_t timeout_ns, struct err *err) nonnull_all;

/*
 * Calls found() once for every name that stands under `airlock` in any hierarchy, for
 * reconciliation; a non-zero return ends it and is returned. A name alone proves nothing: the
 * caller compares it with the ledger *after* the listing (a machine's slot is locked before its
 * group is made). At most CGROUP_LIST_MAX names a call.
 */
#define CGROUP_LIST_MAX 4096
typedef int cgroup_found_fn(void *arg, const char *name, struct err *err);
must_use int cgroup_list(const struct cgroup_host *host, cgroup_found_fn *found, void *arg,
                         struct err *err) nonnull_args(1, 2, 4);
