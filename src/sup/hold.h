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

struct hold {
    struct cgroup_host host;
    struct ledger_slot slot;
    struct cgroup group;
    struct cgroup_report report; /* which limits the kernel took */
    bool grouped;                /* group was made and is to be removed */
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

/*
 * Removes what crashed supervisors of this state directory left (ERR_HOST if something does not
 * go), then takes a slot: ERR_LIMIT as ledger_admit() if the host is full.
 */
must_use int hold_take(struct hold *hold, const struct store *store, const struct ledger_need *need,
                       struct err *err) nonnull_all;

/*
 * Makes the machine's control groups. What the host cannot limit is bounded otherwise: memory by
 * the machine's fixed size, CPU by the supervisor's clock, processes by QEMU's seccomp filter,
 * which denies every fork.
 */
must_use int hold_group(struct hold *hold, uint64_t machine_bytes, uint64_t vcpus,
                        struct err *err) nonnull_all;

/* True if the host's kernel killed the machine for memory. */
must_use bool hold_was_oom(const struct hold *hold) nonnull_all;

/*
 * Kills whatever still lives in the groups and removes them. On failure do not give the slot back:
 * it stays out of use until a later start could clean up. Idempotent.
 */
must_use int hold_release_groups(struct hold *hold, struct err *err) nonnull_all;

/* The same for the reaper of a dead supervisor, which may have made the groups or not. */
must_use int hold_sweep(struct hold *hold, struct err *err) nonnull_all;
