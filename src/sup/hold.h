/*
 * hold.h - what one machine holds of the host: a slot in the ledger and its control groups.
 *
 * hold_prepare() in the calling process before it forks the supervisor; everything else in the
 * supervisor.  The slot is taken before anything is staged and given back last, when the groups are
 * gone, so that neither a uid nor a group name is ever used by two machines.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "image/store.h"
#include "sup/ledger.h"
#include "sys/cgroup.h"

/* Threads: 64 of QEMU's block layer, 8 vCPUs, RCU, the main loop; as RLIMIT_NPROC in the jail. */
#define HOLD_PIDS 128

struct hold {
    struct cgroup_host host;
    struct ledger_slot slot;
    struct cgroup group;
    struct cgroup_report report; /* which limits the kernel took */
    bool grouped;                /* group was made and is to be removed */
    uint64_t memory_bytes;       /* most that the monitor may have, with its overhead */
    /* What earlier jobs left and could not be removed: how much of it, and the first reason. */
    unsigned int n_left_over;
    char left_over[ERR_MSG_MAX];
};

/* Heap-allocated: it is large. NULL if there is no memory. hold_free() takes NULL. */
struct hold *hold_new(void);
void hold_free(struct hold *hold);

static inline void hold_free_p(struct hold **hold)
{
    hold_free(*hold);
}

#define auto_hold on_scope_exit(hold_free_p)

/* Finds the control groups; outside the v2 root moves the calling process into a leaf. */
must_use int hold_prepare(struct hold *hold, struct err *err) nonnull_all;

/* How much the slots of supervisors that are forked from here on may take; 0 = by the host. */
void hold_set_capacity(const struct ledger_capacity *capacity) nonnull_all;

/*
 * Removes what crashed supervisors of this state directory left, then takes a slot: ERR_LIMIT as
 * ledger_admit() if the host is full. What does not go is told in left_over: its slot, with number
 * and uid, stays out of use, and the others are given out.
 */
must_use int hold_take(struct hold *hold, const struct store *store, const struct ledger_need *need,
                       struct err *err) nonnull_all;

/* What the slot holds of the host, from now on. As ledger_set_need(). */
must_use int hold_set_need(struct hold *hold, const struct store *store,
                           const struct ledger_need *need, struct err *err) nonnull_all;

/*
 * Makes the machine's control groups; memory_bytes: of the machine and its monitor together;
 * store_fd is on the disk whose bandwidth is bounded. A limit
 * that the host's groups lack is CGROUP_ABSENT in the report, and hold_instead() says what binds in
 * its place.
 */
must_use int hold_group(struct hold *hold, uint64_t memory_bytes, uint64_t vcpus, int store_fd,
                        struct err *err) nonnull_all;

/* What bounds a machine where the host's control groups do not: a sentence for results, never NULL. */
const char *hold_instead(enum cgroup_limit limit);

/* True if control groups do not bound memory and swap of the machine: ask hold_over_memory() often. */
must_use bool hold_must_watch(const struct hold *hold) nonnull_all;
/* Whether the monitor has more memory than the machine may have. ERR_HOST if that can't be read. */
must_use int hold_over_memory(const struct hold *hold, pid_t monitor, bool *ret,
                              struct err *err) nonnull_all;

/* True if something lives in the machine's groups, or if that can't be told. */
must_use bool hold_has_processes(const struct hold *hold) nonnull_all;
/* Kills whatever lives in the machine's groups, at most 5 s; nothing if there are none. */
must_use int hold_kill(struct hold *hold, struct err *err) nonnull_all;

/* True if the host's kernel killed the machine for memory. */
must_use bool hold_was_oom(const struct hold *hold) nonnull_all;

/*
 * Kills whatever still lives in the groups and removes them. On failure do not give the slot back:
 * it stays out of use until a later start could clean up. Idempotent.
 */
must_use int hold_release_groups(struct hold *hold, struct err *err) nonnull_all;

/* The same for the reaper of a dead supervisor, which may have made the groups or not. */
must_use int hold_sweep(struct hold *hold, struct err *err) nonnull_all;
